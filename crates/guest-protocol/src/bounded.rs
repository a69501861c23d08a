//! Lists and maps of what comes from a sandbox, with a most.
//!
//! A few bytes of JSON make an entry of many bytes in memory, so a limit of the length alone would let a sandbox fill the memory of who reads it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};

/// Most MIME types of one result.
pub const MAX_MIME_TYPES: usize = 1000;

/// Most pieces of one traceback.
pub const MAX_TRACEBACK: usize = 100_000;

/// Reads MIME types, at most [`MAX_MIME_TYPES`].
pub(crate) fn mime_types<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Map;
    impl<'de> Visitor<'de> for Map {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "at most {MAX_MIME_TYPES} MIME types")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, content)) = entries.next_entry()? {
                map.insert(name, content);
                if map.len() > MAX_MIME_TYPES {
                    return Err(A::Error::custom(format!("more than {MAX_MIME_TYPES} MIME types")));
                }
            }
            Ok(map)
        }
    }
    from.deserialize_map(Map)
}

/// Reads pieces of a traceback, at most [`MAX_TRACEBACK`].
pub(crate) fn traceback<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct List;
    impl<'de> Visitor<'de> for List {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "at most {MAX_TRACEBACK} pieces of a traceback")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut pieces: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(piece) = pieces.next_element()? {
                if list.len() == MAX_TRACEBACK {
                    return Err(A::Error::custom(format!("more than {MAX_TRACEBACK} pieces of a traceback")));
                }
                list.push(piece);
            }
            Ok(list)
        }
    }
    from.deserialize_seq(List)
}
