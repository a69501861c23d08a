//! Which server, which key, how long: options of the caller, then the environment, then the configuration file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pandastack_protocol::env_vars;
use pandastack_protocol::error::ErrorCode;
use serde::Deserialize;
use url::Url;

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::retry_hook::RetryHook;

/// The hosted service.
pub const HOSTED_URL: &str = "https://api.pandastack.ai";

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_CAPACITY_WAIT: Duration = Duration::from_secs(60);
const DEFAULT_WARM_UP: Duration = Duration::from_secs(20);

const NO_KEY: &str = "no API key: set `PANDASTACK_API_KEY` to use the hosted service, or `PANDASTACK_API=local` to run sandboxes on this machine";

/// What a caller may choose. Everything left out comes from the environment or the configuration file; `""` counts as left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientOptions {
    /// `local`, `http://…`, `https://…` or `unix:/path`.
    pub api_url: Option<String>,
    /// `pds_…`.
    pub api_key: Option<String>,
    /// Time limit of a call in milliseconds. Default 30 000.
    pub timeout_ms: Option<u64>,
    /// How long to try again while the server has no room for a new sandbox, in milliseconds; 0: not at all. Default 60 000.
    pub capacity_wait_ms: Option<u64>,
    /// The `pandastack` binary that starts the local engine. `PANDASTACK_BINARY` comes first.
    pub binary: Option<PathBuf>,
    /// First part of the `User-Agent` header. Default `pandastack-client/VERSION`.
    pub user_agent: Option<String>,
    /// The caller's environment variables. Default: those of the process.
    pub environment: Environment,
    /// Told before a call is made again.
    #[serde(skip)]
    pub on_retry: RetryHook,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Over TCP. The URL ends in `/v1/`.
    Http(Url),
    /// Over a unix socket.
    Unix(PathBuf),
    /// The local engine, started if it is not running.
    Local,
}

/// Everything that a client needs to know, all of it checked.
#[derive(Clone)]
pub struct Config {
    /// The server.
    pub endpoint: Endpoint,
    /// The address as the caller knows it, without trailing slashes.
    pub api_url: String,
    refusal: Option<String>,
    /// The key, if there is one.
    pub api_key: Option<String>,
    /// Where the key was found.
    key_source: Option<String>,
    /// Time limit of a call.
    pub timeout: Duration,
    /// How long to try again while the server has no room.
    pub capacity_wait: Duration,
    /// How long to wait for a new sandbox to answer its first calls.
    pub warm_up: Duration,
    /// The `pandastack` binary, if one is known.
    pub binary: Option<PathBuf>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The caller's environment variables.
    pub environment: Environment,
    /// Told before a call is made again.
    pub on_retry: RetryHook,
}

/// The configuration file, under every name its keys have had.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigFile {
    token: Option<String>,
    #[serde(rename = "apiKey")]
    api_key_camel: Option<String>,
    api_key: Option<String>,
    #[serde(rename = "apiUrl")]
    api_url_camel: Option<String>,
    api_url: Option<String>,
    /// Where it is.
    #[serde(skip)]
    path: PathBuf,
    /// Why what it says is not known.
    #[serde(skip)]
    problem: Option<String>,
}

impl Config {
    /// Completes `options` from the environment and the configuration file.
    ///
    /// # Errors
    /// `invalid_option` for an address or a key that is none. That neither a server nor a key is named is not an error yet: see
    /// [`Self::check`].
    pub fn resolve(options: ClientOptions) -> Result<Self> {
        let environment = options.environment.clone();
        Self::resolve_with(options, &|name| environment.get(name), || config_file(&environment))
    }

    /// Refuses to send anything if neither a server nor a key was named.
    ///
    /// # Errors
    /// `auth`, and the text names both ways out.
    pub fn check(&self) -> Result<()> {
        self.refusal.as_ref().map_or(Ok(()), |text| Err(Error::new(ErrorCode::Auth, text)))
    }

    /// What to do about a key that the server refused. Never the key itself.
    pub(crate) fn key_advice(&self) -> String {
        match &self.key_source {
            Some(source) => {
                format!("the API key came from {source}: check that it is whole, not revoked, and of this server")
            }
            None => format!("no API key was sent: set `{}`, or pass `apiKey`", env_vars::API_KEY),
        }
    }

    fn resolve_with(
        options: ClientOptions,
        env: &dyn Fn(&str) -> Option<String>,
        file: impl FnOnce() -> ConfigFile,
    ) -> Result<Self> {
        let url = set(options.api_url).or_else(|| set(env(env_vars::API))).or_else(|| set(env(env_vars::API_URL)));
        let key = given_key(options.api_key, env);
        let file = if url.is_some() && key.is_some() { ConfigFile::default() } else { file() };
        let source = format!("the configuration file `{}`", file.path.display());
        let key = key.or_else(|| {
            let key = set(file.token).or_else(|| set(file.api_key_camel)).or_else(|| set(file.api_key))?;
            Some((key, source))
        });
        let (key, key_source) = key.unzip();
        let url = url.or_else(|| set(file.api_url_camel)).or_else(|| set(file.api_url));
        let problem = file.problem.map(|problem| format!("; {problem}")).unwrap_or_default();
        let refusal = (url.is_none() && key.is_none()).then(|| format!("{NO_KEY}{problem}"));
        let api_url = url.unwrap_or_else(|| HOSTED_URL.to_owned()).trim_end_matches('/').to_owned();
        Ok(Self {
            endpoint: Endpoint::parse(&api_url)?,
            api_url,
            refusal,
            api_key: checked_key(key)?,
            key_source,
            timeout: options.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
            capacity_wait: options.capacity_wait_ms.map_or(DEFAULT_CAPACITY_WAIT, Duration::from_millis),
            warm_up: warm_up(env),
            binary: set(env(env_vars::BINARY)).map(PathBuf::from).or(options.binary),
            environment: options.environment,
            on_retry: options.on_retry,
            user_agent: options
                .user_agent
                .unwrap_or_else(|| format!("pandastack-client/{}", env!("CARGO_PKG_VERSION"))),
        })
    }
}

impl Endpoint {
    /// True for the local engine, which ends what it does for a client that closes its connection.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_) | Self::Local)
    }

    /// Reads `local`, `http://…`, `https://…` or `unix:/path`.
    ///
    /// # Errors
    /// `invalid_option` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "local" {
            return Ok(Self::Local);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match Path::new(path).is_absolute() {
                true => Ok(Self::Unix(path.into())),
                false => Err(Error::option(format!("the path of a unix socket must be absolute: `{text}`"))),
            };
        }
        let mut url = Url::parse(text).map_err(|error| bad_url(text).with_source(error))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad_url(text));
        }
        url.set_query(None);
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        let path = if path.ends_with("/v1") { format!("{path}/") } else { format!("{path}/v1/") };
        url.set_path(&path);
        Ok(Self::Http(url))
    }
}

fn bad_url(text: &str) -> Error {
    Error::option(format!(
        "the server must be `local`, `http://…`, `https://…` or `unix:/path`, not: `{}`",
        without_secrets(text)
    ))
}

/// An address that is none may hold a password, a token in its query, or be a key in the wrong place.
fn without_secrets(text: &str) -> String {
    if text.starts_with("pds_") {
        return "pds_…".to_owned();
    }
    let scheme = text.split_once("://").map_or(String::new(), |(scheme, _)| format!("{scheme}://"));
    let shown = text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, host)| format!("{scheme}…@{host}"));
    shown.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// A key and where it is from.
fn given_key(option: Option<String>, env: &dyn Fn(&str) -> Option<String>) -> Option<(String, String)> {
    let from_option = set(option).map(|key| (key, "the option `apiKey`".to_owned()));
    let from_env = |name: &str| Some((set(env(name))?, format!("the environment variable `{name}`")));
    from_option.or_else(|| from_env(env_vars::API_KEY)).or_else(|| from_env(env_vars::TOKEN))
}

fn checked_key(key: Option<String>) -> Result<Option<String>> {
    match key {
        Some(key) if !key.bytes().all(|byte| (0x21..0x7f).contains(&byte)) => {
            Err(Error::option("the API key holds a character that no key has, such as a space or a line break"))
        }
        key => Ok(key),
    }
}

fn warm_up(env: &dyn Fn(&str) -> Option<String>) -> Duration {
    let milliseconds = set(env(env_vars::EXEC_READY_TIMEOUT_MS)).and_then(|text| text.parse().ok());
    milliseconds.map_or(DEFAULT_WARM_UP, Duration::from_millis)
}

fn set(value: Option<String>) -> Option<String> {
    value.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn config_file(environment: &Environment) -> ConfigFile {
    let folder = environment.path("XDG_CONFIG_HOME");
    let home = environment.path("HOME").or_else(std::env::home_dir).map(|home| home.join(".config"));
    let mut files = [folder, home].into_iter().flatten().map(|folder| folder.join("pandastack/config.json"));
    files.find(|path| path.is_file()).map(|path| read_config(&path)).unwrap_or_default()
}

fn read_config(path: &Path) -> ConfigFile {
    let read = std::fs::read(path).and_then(|text| Ok(serde_json::from_slice::<ConfigFile>(&text)?));
    let read = read.map(|file| ConfigFile { path: path.to_owned(), ..file });
    read.unwrap_or_else(|error| ConfigFile {
        problem: Some(format!("the configuration file is not readable ({error}): `{}`", path.display())),
        ..ConfigFile::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(options: ClientOptions, env: &[(&str, &str)], file: &str) -> Result<Config> {
        let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Config::resolve_with(options, &env, || serde_json::from_str(file).unwrap())
    }

    #[test]
    fn no_server_and_no_key_names_both_ways_out() {
        let config =
            resolve(ClientOptions::default(), &[("PANDASTACK_API", ""), ("PANDASTACK_API_KEY", " ")], "{}").unwrap();
        let error = config.check().err().unwrap();
        assert_eq!(error.code(), ErrorCode::Auth);
        assert!(error.message().contains("PANDASTACK_API_KEY") && error.message().contains("PANDASTACK_API=local"));
    }

    #[test]
    fn an_address_that_is_none_is_told_without_its_secrets() {
        for (url, shown) in [
            ("htp://user:secret@host", "`htp://…@host`"),
            ("https://user:se?cret@host:99999", "`https://…@host:99999`"),
            ("user:secret@host", "`…@host`"),
            ("host?token=secret", "`host`"),
            ("pds_secret", "`pds_…`"),
        ] {
            let options = ClientOptions { api_url: Some(url.into()), ..ClientOptions::default() };
            let error = resolve(options, &[], "{}").err().unwrap().to_string();
            assert!(error.contains(shown) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_source_of_a_key_is_known_and_the_key_is_not_told() {
        let advice = |options: ClientOptions, env: &[(&str, &str)], file: &str| {
            let advice = resolve(options, env, file).unwrap().key_advice();
            assert!(!advice.contains("secret"), "{advice}");
            advice
        };
        let url = Some("http://h".to_owned());
        let option = ClientOptions { api_key: Some("secret".into()), ..ClientOptions::default() };
        assert!(advice(option, &[("PANDASTACK_API_KEY", "secret2")], "{}").contains("the option `apiKey`"));
        let none = || ClientOptions { api_url: url.clone(), ..ClientOptions::default() };
        for name in ["PANDASTACK_API_KEY", "PANDASTACK_TOKEN"] {
            assert!(advice(none(), &[(name, "secret")], "{}").contains(&format!("`{name}`")));
        }
        assert!(advice(none(), &[], r#"{"token":"secret"}"#).contains("the configuration file"));
        assert!(advice(none(), &[], "{}").contains("no API key was sent"));
    }

    #[test]
    fn a_broken_configuration_file_is_named_where_it_matters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, r#"{"apiKey": "pds_1",}"#).unwrap();
        let resolve = |env: &[(&str, &str)]| {
            let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            Config::resolve_with(ClientOptions::default(), &env, || read_config(&path)).unwrap()
        };
        let error = resolve(&[]).check().err().unwrap();
        assert!(error.message().starts_with(NO_KEY) && error.message().contains("config.json"), "{error}");
        assert!(resolve(&[("PANDASTACK_API", "local")]).check().is_ok());
    }

    #[test]
    fn a_key_alone_means_hosted() {
        let config = resolve(ClientOptions::default(), &[("PANDASTACK_API_KEY", "pds_1")], "{}").unwrap();
        assert_eq!(config.endpoint, Endpoint::Http(Url::parse("https://api.pandastack.ai/v1/").unwrap()));
    }

    #[test]
    fn arguments_come_before_environment_before_file() {
        let file = r#"{"apiKey":"file","api_url":"http://file"}"#;
        let config = resolve(ClientOptions::default(), &[], file).unwrap();
        assert_eq!((config.api_url.as_str(), config.api_key.as_deref()), ("http://file", Some("file")));
        let env = [("PANDASTACK_API", "http://env"), ("PANDASTACK_TOKEN", "env")];
        let config = resolve(ClientOptions::default(), &env, file).unwrap();
        assert_eq!((config.api_url.as_str(), config.api_key.as_deref()), ("http://env", Some("env")));
        let options = ClientOptions { api_url: Some("local".into()), ..ClientOptions::default() };
        assert_eq!(resolve(options, &env, file).unwrap().endpoint, Endpoint::Local);
    }

    #[test]
    fn addresses_keep_their_prefix_and_end_in_v1() {
        for (text, url) in [
            ("http://h:1/base/x", "http://h:1/base/x/v1/"),
            ("http://h/base/v1/", "http://h/base/v1/"),
            ("https://h?x=1#y", "https://h/v1/"),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap(), Endpoint::Http(Url::parse(url).unwrap()), "{text}");
        }
        assert_eq!(Endpoint::parse("unix:/run/x.sock").unwrap(), Endpoint::Unix("/run/x.sock".into()));
        for text in ["ftp://h", "h:8080", "unix:x", "Local", "http://"] {
            assert_eq!(Endpoint::parse(text).err().map(|error| error.code()), Some(ErrorCode::InvalidOption), "{text}");
        }
    }

    #[test]
    fn a_key_with_a_line_break_is_refused() {
        let error = resolve(ClientOptions { api_key: Some("a\nb".into()), ..ClientOptions::default() }, &[], "{}")
            .err()
            .unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
    }
}
