//! A response whose body is being read.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use http::Response;
use hyper::body::Incoming;

use super::Lost;
use super::link::Link;

/// The head of a response, and the rest of it as it comes. Dropped before its end, it closes the connection.
pub(in crate::bench::run) struct Answer {
    response: Response<Incoming>,
    link: Option<Link>,
    idle: Arc<Mutex<Vec<Link>>>,
}

impl Answer {
    pub(super) fn new(response: Response<Incoming>, link: Link, idle: Arc<Mutex<Vec<Link>>>) -> Self {
        Answer { response, link: Some(link), idle }
    }

    pub(in crate::bench::run) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(in crate::bench::run) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next bytes of the body; `None` at its end, where the connection is given back.
    pub(in crate::bench::run) async fn read(&mut self) -> Result<Option<Bytes>, Lost> {
        while let Some(link) = &mut self.link {
            match link.frame(self.response.body_mut()).await {
                Some(frame) => {
                    if let Ok(bytes) = frame?.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                None => self.give_back(),
            }
        }
        Ok(None)
    }

    /// The whole body, or the first `most` bytes of it.
    pub(in crate::bench::run) async fn read_at_most(&mut self, most: usize) -> Result<Vec<u8>, Lost> {
        let mut body = Vec::new();
        while let Some(bytes) = self.read().await? {
            let room = most - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == most {
                break;
            }
        }
        Ok(body)
    }

    fn give_back(&mut self) {
        if let Some(link) = self.link.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
    }
}
