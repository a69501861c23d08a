//! How answers and errors become JavaScript values. The only place with `unsafe` code.

use napi::bindgen_prelude::*;
use pandastack_client::Error as ClientError;
use serde::Serialize;
use serde_json::Value;

/// Result of every call. An error becomes a JavaScript `Error` with the fields that `lib/errors.ts` makes classes from.
pub(crate) struct Outcome<T>(pub(crate) pandastack_client::Result<T>);

impl<T: ToNapiValue> ToNapiValue for Outcome<T> {
    unsafe fn to_napi_value(env: sys::napi_env, outcome: Self) -> napi::Result<sys::napi_value> {
        match outcome.0 {
            // SAFETY: `env` is the one that this function was called with, on its thread.
            Ok(value) => unsafe { T::to_napi_value(env, value) },
            Err(error) => Err(js_error(&Env::from_raw(env), &error)?),
        }
    }
}

fn js_error(env: &Env, error: &ClientError) -> napi::Result<napi::Error> {
    let mut object = env.create_error(napi::Error::from_reason(error.message()))?;
    object.set("code", code_text(error))?;
    object.set("statusCode", error.status().map(u32::from))?;
    object.set("requestId", error.request_id())?;
    object.set("method", error.method())?;
    object.set("url", error.url())?;
    object.set("retryAfter", error.retry_after().map(|wait| wait.as_secs_f64()))?;
    object.set("body", error.body())?;
    object.set("causes", error.causes())?;
    object.set("stdout", error.partial().stdout.as_deref())?;
    object.set("stderr", error.partial().stderr.as_deref())?;
    object.set("execution", error.partial().execution.as_ref().map(Json::of).transpose()?)?;
    Ok(napi::Error::from(object.to_unknown()))
}

fn code_text(error: &ClientError) -> String {
    match serde_json::to_value(error.code()) {
        Ok(Value::String(code)) => code,
        _ => "server".to_owned(),
    }
}

/// A wire type as a plain JavaScript object, with the names that it has on the wire.
pub(crate) struct Json(Value);

impl Json {
    pub(crate) fn of(value: &impl Serialize) -> napi::Result<Self> {
        serde_json::to_value(value).map(Self).map_err(|error| napi::Error::from_reason(error.to_string()))
    }
}

impl ToNapiValue for Json {
    unsafe fn to_napi_value(env: sys::napi_env, json: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: `env` is the one that this function was called with, on its thread.
        unsafe { convert(env, json.0) }
    }
}

/// Numbers become doubles: JSON knows no others, and a BigInt would surprise.
///
/// # Safety
/// As `ToNapiValue::to_napi_value`: `env` must be valid on this thread.
unsafe fn convert(env: sys::napi_env, value: Value) -> napi::Result<sys::napi_value> {
    // SAFETY: every call hands on the `env` that the caller vouches for.
    unsafe {
        match value {
            Value::Null => Null::to_napi_value(env, Null),
            Value::Bool(flag) => bool::to_napi_value(env, flag),
            Value::Number(number) => f64::to_napi_value(env, number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => String::to_napi_value(env, text),
            Value::Array(values) => {
                let owner = Env::from_raw(env);
                let mut array = owner.create_array(u32::try_from(values.len()).unwrap_or(u32::MAX))?;
                for (index, value) in (0..).zip(values) {
                    array.set(index, Json(value))?;
                }
                Array::to_napi_value(env, array)
            }
            Value::Object(fields) => {
                let mut object = Object::new(&Env::from_raw(env))?;
                for (name, value) in fields {
                    object.set(name, Json(value))?;
                }
                Object::to_napi_value(env, object)
            }
        }
    }
}

/// A wire type from a plain JavaScript object.
pub(crate) fn from_js<T: serde::de::DeserializeOwned>(value: Value) -> napi::Result<T> {
    serde_json::from_value(value).map_err(|error| napi::Error::new(Status::InvalidArg, error.to_string()))
}
