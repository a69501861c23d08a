//! Messages of the kernel protocol.

use std::collections::BTreeMap;
use std::io;

use bytes::{Bytes, BytesMut};
use pandastack_guest_protocol::context::{ClearFrame, ErrorFrame, ResultFrame};
use pandastack_guest_protocol::frame;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::codec::LengthDelimitedCodec;

/// Longest message of a kernel, in bytes: a result must fit a frame. User code can write to these sockets.
const MAX_MESSAGE: usize = frame::MAX_PAYLOAD - (1 << 20);

/// Longest message to a kernel, in bytes: code with every character escaped.
const MAX_ORDER: usize = 256 << 20;

/// The framing of what kernels say: a 4-byte little-endian length before each message.
pub(super) fn codec() -> LengthDelimitedCodec {
    framing(MAX_MESSAGE)
}

/// The framing of what kernels are told.
pub(super) fn order_codec() -> LengthDelimitedCodec {
    framing(MAX_ORDER)
}

fn framing(max_length: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().little_endian().length_field_length(4).max_frame_length(max_length).new_codec()
}

/// Encodes a message without its length.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Bytes> {
    Ok(serde_json::to_vec(message)?.into())
}

/// From a kernel.
#[derive(Debug)]
pub(crate) enum Message {
    Ready,
    Configured,
    Quiesced,
    Result(u64, ResultFrame),
    Clear(u64, ClearFrame),
    Error(u64, ErrorFrame),
    Done(Done),
    /// Of a later version.
    Unknown,
}

/// The cell ended.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Done {
    pub(crate) id: u64,
    /// `ok`, `error` or `interrupted`.
    pub(crate) status: String,
    pub(crate) execution_count: u64,
    pub(crate) exit_code: i32,
}

#[derive(Deserialize)]
struct Head {
    r#type: String,
    #[serde(default)]
    id: u64,
}

impl Message {
    /// Reads a message.
    pub(super) fn parse(bytes: &BytesMut) -> io::Result<Self> {
        let head: Head = read(bytes)?;
        Ok(match head.r#type.as_str() {
            "ready" => Self::Ready,
            "configured" => Self::Configured,
            "quiesced" => Self::Quiesced,
            "result" => Self::Result(head.id, read(bytes)?),
            "clear_output" => Self::Clear(head.id, read(bytes)?),
            "error" => Self::Error(head.id, read(bytes)?),
            "done" => Self::Done(read(bytes)?),
            _ => Self::Unknown,
        })
    }
}

fn read<T: DeserializeOwned>(bytes: &BytesMut) -> io::Result<T> {
    Ok(serde_json::from_slice(bytes)?)
}

/// To a kernel: run one cell.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "execute")]
pub(crate) struct Execute<'a> {
    pub(crate) id: u64,
    pub(crate) code: &'a str,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) store_history: bool,
}

/// To a kernel: a new identity.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "configure")]
pub(super) struct Configure<'a> {
    pub(super) env: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<&'a str>,
    pub(super) reseed: bool,
}

/// To a kernel that nobody uses: do what a first cell does. There is no answer.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "rehearse")]
pub(super) struct Rehearse {}

/// To a kernel: end helper processes.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "quiesce")]
pub(super) struct Quiesce {}

/// To the zygote: fork one kernel.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "fork")]
pub(super) struct Fork<'a> {
    pub(super) id: &'a str,
    pub(super) cwd: &'a str,
}

/// From the zygote.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ZygoteMessage {
    Ready,
    Forked {
        id: String,
        pid: i32,
    },
    ForkFailed {
        id: String,
        message: String,
    },
    Exited {
        id: String,
        exit_code: i32,
    },
    #[serde(other)]
    Unknown,
}

impl ZygoteMessage {
    pub(super) fn parse(bytes: &BytesMut) -> io::Result<Self> {
        read(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> io::Result<Message> {
        Message::parse(&BytesMut::from(text))
    }

    #[test]
    fn known_messages_are_read_and_unknown_ones_passed_over() {
        let result = parse(r#"{"type":"result","id":3,"data":{"text/plain":"42"},"is_main":true,"new":1}"#).unwrap();
        assert!(matches!(result, Message::Result(3, frame) if frame.is_main && frame.data["text/plain"] == "42"));
        let done = parse(r#"{"type":"done","id":1,"status":"ok","execution_count":2,"exit_code":0}"#).unwrap();
        assert!(matches!(done, Message::Done(done) if done.execution_count == 2));
        assert!(matches!(parse(r#"{"type":"novelty"}"#), Ok(Message::Unknown)));
    }

    #[test]
    fn hostile_messages_are_refused() {
        for text in
            ["", "[]", "{}", r#"{"type":1}"#, r#"{"type":"done"}"#, r#"{"type":"result","data":{"a":1}}"#, "\u{0}"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(Message::parse(&BytesMut::from(&b"{\"type\":\"\xff\"}"[..])).is_err());
    }

    #[test]
    fn orders_have_the_shape_of_the_protocol() {
        let env = BTreeMap::new();
        let text = serde_json::to_string(&Execute { id: 1, code: "x", env: &env, store_history: true }).unwrap();
        assert_eq!(text, r#"{"type":"execute","id":1,"code":"x","env":{},"store_history":true}"#);
    }
}
