//! Packed answers: `x-sim-pack` names a coding, and each event is flushed through it so that it leaves
//! when it is due, unless `x-sim-pack-flush: none` lets the coder keep what it likes.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderValue};

use super::refusal::Refusal;

/// Brotli's buffer, quality and window, which are its middle ones: what counts is the framing.
const BROTLI: (usize, u32, u32) = (4096, 5, 22);

/// Packs one answer, if it is to be packed at all.
#[derive(Default)]
pub(crate) struct Packer {
    coder: Coder,
    /// The value of `content-encoding`.
    name: Option<&'static str>,
    /// Whether the coder may keep events back.
    keeps: bool,
}

/// A coder that writes into a buffer, so that it never fails for want of room.
#[derive(Default)]
enum Coder {
    #[default]
    None,
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Packer {
    /// What the headers ask for.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Refusal> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let level = Compression::default();
        let (name, coder) = match text("x-sim-pack") {
            None => (None, Coder::None),
            Some("gzip") => (Some("gzip"), Coder::Gzip(GzEncoder::new(Vec::new(), level))),
            Some("deflate") => (Some("deflate"), Coder::Deflate(ZlibEncoder::new(Vec::new(), level))),
            Some("br") => {
                let (buffer, quality, window) = BROTLI;
                let coder = brotli::CompressorWriter::new(Vec::new(), buffer, quality, window);
                (Some("br"), Coder::Brotli(Box::new(coder)))
            }
            Some("zstd") => {
                let coder = zstd::stream::write::Encoder::new(Vec::new(), 0)
                    .map_err(|error| Refusal::invalid(format!("x-sim-pack: {error}")))?;
                (Some("zstd"), Coder::Zstd(coder))
            }
            Some(_) => return Err(Refusal::invalid("x-sim-pack: allowed are gzip, deflate, br and zstd")),
        };
        let keeps = match text("x-sim-pack-flush") {
            None | Some("event") => false,
            Some("none") => true,
            Some(_) => return Err(Refusal::invalid("x-sim-pack-flush: allowed are event and none")),
        };
        Ok(Packer { coder, name, keeps })
    }

    /// The value of `content-encoding`.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        self.name.map(HeaderValue::from_static)
    }

    /// Packs an answer that is there as a whole.
    pub(crate) fn whole(mut self, bytes: &Bytes) -> io::Result<Bytes> {
        let head = self.pack(bytes)?;
        Ok(match self.finish()? {
            None => head,
            Some(tail) => Bytes::from([head, tail].concat()),
        })
    }

    /// Packs some more bytes. What comes out may be empty where the coder keeps it.
    pub(crate) fn pack(&mut self, bytes: &Bytes) -> io::Result<Bytes> {
        let keeps = self.keeps;
        let packed = match &mut self.coder {
            Coder::None => return Ok(bytes.clone()),
            Coder::Gzip(coder) => {
                coder.write_all(bytes)?;
                flush(coder, keeps)?;
                std::mem::take(coder.get_mut())
            }
            Coder::Deflate(coder) => {
                coder.write_all(bytes)?;
                flush(coder, keeps)?;
                std::mem::take(coder.get_mut())
            }
            Coder::Brotli(coder) => {
                coder.write_all(bytes)?;
                flush(coder, keeps)?;
                std::mem::take(coder.get_mut())
            }
            Coder::Zstd(coder) => {
                coder.write_all(bytes)?;
                flush(coder, keeps)?;
                std::mem::take(coder.get_mut())
            }
        };
        Ok(Bytes::from(packed))
    }

    /// Ends the answer: what the coder kept, and its end. Nothing where nothing is packed, or once it
    /// has ended.
    pub(crate) fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let tail = match std::mem::replace(&mut self.coder, Coder::None) {
            Coder::None => return Ok(None),
            Coder::Gzip(coder) => coder.finish()?,
            Coder::Deflate(coder) => coder.finish()?,
            Coder::Brotli(coder) => coder.into_inner(),
            Coder::Zstd(coder) => coder.finish()?,
        };
        Ok(Some(Bytes::from(tail)))
    }
}

fn flush(coder: &mut impl io::Write, keeps: bool) -> io::Result<()> {
    if keeps { Ok(()) } else { coder.flush() }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn packer(coding: &'static str, flush: &'static str) -> Packer {
        let mut headers = HeaderMap::new();
        headers.insert("x-sim-pack", HeaderValue::from_static(coding));
        headers.insert("x-sim-pack-flush", HeaderValue::from_static(flush));
        Packer::read(&headers).unwrap()
    }

    /// What can be read of a packed answer, whether it has ended or not.
    fn unpacked(coding: &str, packed: &[u8]) -> String {
        let mut reader: Box<dyn io::Read> = match coding {
            "gzip" => Box::new(flate2::read::GzDecoder::new(packed)),
            "deflate" => Box::new(flate2::read::ZlibDecoder::new(packed)),
            "br" => Box::new(brotli::Decompressor::new(packed, 4096)),
            _ => Box::new(zstd::stream::read::Decoder::new(packed).unwrap()),
        };
        let mut text = Vec::new();
        let mut piece = [0; 64];
        while let Ok(read @ 1..) = reader.read(&mut piece) {
            text.extend_from_slice(&piece[..read]);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_coding_gives_back_what_went_in() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let bytes = Bytes::from("river ".repeat(1000));
            let packed = packer(coding, "event").whole(&bytes).unwrap();
            assert!(packed.len() < 600, "{coding}: {}", packed.len());
            assert_eq!(unpacked(coding, &packed), "river ".repeat(1000), "{coding}");
            assert_eq!(packer(coding, "event").header().unwrap(), coding);
        }
    }

    #[test]
    fn a_flushed_event_can_be_read_at_once() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let mut packer = packer(coding, "event");
            let mut packed = packer.pack(&Bytes::from_static(b"one ")).unwrap().to_vec();
            assert_eq!(unpacked(coding, &packed), "one ", "{coding}");
            packed.extend(packer.pack(&Bytes::from_static(b"two")).unwrap());
            assert_eq!(unpacked(coding, &packed), "one two", "{coding}");
            packed.extend(packer.finish().unwrap().unwrap());
            assert_eq!(unpacked(coding, &packed), "one two", "{coding}");
            assert_eq!(packer.finish().unwrap(), None);
        }
    }

    #[test]
    fn without_a_flush_events_stay_in_the_coder() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let mut packer = packer(coding, "none");
            let mut packed = packer.pack(&Bytes::from_static(b"one ")).unwrap().to_vec();
            packed.extend(packer.pack(&Bytes::from_static(b"two")).unwrap());
            assert_eq!(unpacked(coding, &packed), "", "{coding}");
            packed.extend(packer.finish().unwrap().unwrap());
            assert_eq!(unpacked(coding, &packed), "one two", "{coding}");
        }
    }

    #[test]
    fn without_the_header_nothing_is_packed() {
        let mut packer = Packer::read(&HeaderMap::new()).unwrap();
        assert_eq!(packer.header(), None);
        assert_eq!(packer.pack(&Bytes::from_static(b"plain")).unwrap(), "plain");
        assert_eq!(packer.finish().unwrap(), None);
    }

    #[test]
    fn a_mistake_names_its_header() {
        for name in ["x-sim-pack", "x-sim-pack-flush"] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static("lzma"));
            let refusal = Packer::read(&headers).err().unwrap();
            assert!(refusal.message.starts_with(name));
        }
    }
}
