//! A headless Chromium, controlled by its DevTools protocol over a pipe: JSON messages, each terminated by a zero byte
//! (<https://chromedevtools.github.io/devtools-protocol/>).

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
];

/// The browser reads descriptor 3 and writes descriptor 4, which are the pipes of this process.
const ON_PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// A browser with one page. It is killed on drop.
pub struct Browser {
    process: Child,
    orders: ChildStdin,
    messages: Receiver<Value>,
    /// Events that arrived while a call waited for its answer.
    events: VecDeque<Value>,
    session: Value,
    last_id: u64,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts a browser with its own profile.
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", ON_PIPES, "sh"])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            orders,
            messages,
            events: VecDeque::new(),
            session: Value::Null,
            last_id: 0,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", target)["sessionId"].clone();
        for domain in ["Runtime", "Log", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut order = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_null() {
            order["sessionId"] = self.session.clone();
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        self.orders.write_all(&bytes).unwrap();
        let begin = Instant::now();
        loop {
            let rest = PATIENCE.saturating_sub(begin.elapsed());
            let message = self.messages.recv_timeout(rest);
            let mut message = message.unwrap_or_else(|e| panic!("no answer to {method}: {e}"));
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.events.push_back(message);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let begin = Instant::now();
        while self.evaluate("document.readyState") != "complete" {
            assert!(begin.elapsed() < PATIENCE, "{} is not loaded", file.display());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Sets the size of the viewport.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets the medium, `screen` or `print`, and the colour scheme.
    pub fn media(&mut self, media: &str, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// Sends a pointer event at a place of the viewport: `mouseMoved`, `mousePressed` or `mouseReleased`.
    pub fn pointer(&mut self, kind: &str, [x, y]: [f64; 2]) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Returns the errors and warnings of the page since it was opened.
    pub fn complaints(&mut self) -> Vec<String> {
        let complains = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => {
                ["error", "warning", "assert"].iter().any(|kind| event["params"]["type"] == *kind)
            }
            _ => false,
        };
        self.events.iter().filter(complains).map(ToString::to_string).collect()
    }
}
