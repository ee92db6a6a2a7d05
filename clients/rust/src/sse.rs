//! A parser of server-sent events, as the HTML standard defines them.

use std::time::Duration;

/// One event: `event`, `data`, and `id` if this event has one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub event: String,
    pub data: String,
    pub id: Option<String>,
}

/// Takes pieces of a body and gives events.
#[derive(Default)]
pub(crate) struct SseParser {
    rest: Vec<u8>,
    event: String,
    id: Option<String>,
    data: Option<String>,
    is_started: bool,
    /// The last piece ended with a carriage return, whose line feed may follow.
    after_return: bool,
    /// The time that the server asks to wait before a reconnect.
    pub retry: Option<Duration>,
}

impl SseParser {
    /// The events that this piece completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in piece {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.rest);
                    self.line(&String::from_utf8_lossy(&line), &mut events);
                }
                other => self.rest.push(other),
            }
        }
        events
    }

    fn line(&mut self, line: &str, events: &mut Vec<SseEvent>) {
        let is_first = !std::mem::replace(&mut self.is_started, true);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        if line.is_empty() {
            let (event, id) = (std::mem::take(&mut self.event), self.id.take());
            if let Some(data) = self.data.take() {
                let event = if event.is_empty() { "message".into() } else { event };
                events.push(SseEvent { event, data, id });
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.into()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.into()),
            "retry" if !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event: &str, data: &str, id: Option<&str>) -> SseEvent {
        SseEvent { event: event.into(), data: data.into(), id: id.map(str::to_owned) }
    }

    #[test]
    fn every_cut_of_a_stream_gives_the_same_events() {
        let text = "\u{feff}: hello\r\nretry: 250\r\nid: v2:1\r\nevent: published\r\ndata: {\"a\":\r\ndata:\"ü\"}\r\n\r\ndata: x\n\nid: 7\n\n";
        let expected = [event("published", "{\"a\":\n\"ü\"}", Some("v2:1")), event("message", "x", None)];
        for cut in 0..=text.len() {
            let mut parser = SseParser::default();
            let (one, other) = text.as_bytes().split_at(cut);
            let mut events = parser.push(one);
            events.extend(parser.push(other));
            assert_eq!(events, expected, "cut at {cut}");
            assert_eq!(parser.retry, Some(Duration::from_millis(250)));
        }
    }
}
