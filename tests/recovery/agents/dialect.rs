//! The four protocols that models are spoken to with: what a request holds, and how an answer is written.

use serde_json::{Value, json};

use super::script::Call;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Messages of Anthropic.
    Messages,
    /// Responses of OpenAI.
    Responses,
    /// Chat completions, which many servers speak.
    Chat,
    /// `generateContent` of Gemini.
    Generate,
}

/// A part of a conversation, as far as a script needs it.
pub(super) enum Part {
    Prompt(String),
    Result { text: String, failed: bool },
}

/// Content of an answer when there is nothing more to do.
const DONE: &str = "finished";

impl Dialect {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            path if path.ends_with("/messages") => Some(Self::Messages),
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.contains(":generateContent") || path.contains(":streamGenerateContent") => {
                Some(Self::Generate)
            }
            _ => None,
        }
    }

    pub(super) fn has_tools(self, request: &Value) -> bool {
        request["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    /// Returns the prompts and the results of tools, in their order.
    pub(super) fn parts(self, request: &Value) -> Vec<Part> {
        let list = match self {
            Self::Messages | Self::Chat => "messages",
            Self::Responses => "input",
            Self::Generate => "contents",
        };
        let mut parts = Vec::new();
        for item in request[list].as_array().into_iter().flatten() {
            let is_user = item["role"] == "user";
            match self {
                Self::Messages if is_user => match &item["content"] {
                    Value::Array(blocks) => parts.extend(blocks.iter().filter_map(block)),
                    other => parts.push(Part::Prompt(text_in(other))),
                },
                Self::Chat if is_user => parts.push(Part::Prompt(text_in(&item["content"]))),
                Self::Chat if item["role"] == "tool" => parts.push(Part::Result {
                    text: text_in(&item["content"]),
                    failed: false,
                }),
                Self::Responses if is_user => parts.push(Part::Prompt(text_in(&item["content"]))),
                Self::Responses
                    if item["type"]
                        .as_str()
                        .is_some_and(|kind| kind.ends_with("_call_output")) =>
                {
                    let text = text_in(&item["output"]);
                    let failed = text.contains("unsupported call");
                    parts.push(Part::Result { text, failed });
                }
                Self::Generate if item["role"] != "model" => {
                    for part in item["parts"].as_array().into_iter().flatten() {
                        let response = &part["functionResponse"]["response"];
                        if response.is_null() {
                            parts.push(Part::Prompt(text_in(part)));
                        } else {
                            let failed = response.get("error").is_some();
                            let text = response.to_string();
                            parts.push(Part::Result { text, failed });
                        }
                    }
                }
                _ => {}
            }
        }
        parts
    }

    /// Returns status, type and body of the answer that makes `call`, or that says that all is done.
    pub(super) fn answer(
        self,
        path: &str,
        request: &Value,
        call: Option<Call>,
    ) -> (&'static str, &'static str, String) {
        let streams = request["stream"] == true || path.contains(":stream");
        let (whole, events) = match self {
            Self::Messages => messages(request, call),
            Self::Responses => responses(request, call),
            Self::Chat => chat(request, call),
            Self::Generate => generate(request, call),
        };
        if !streams {
            return ("200 OK", "application/json", whole.to_string());
        }
        let mut body = String::new();
        for event in events {
            // Where events have names, their data repeat them.
            let name = event["type"]
                .as_str()
                .filter(|_| matches!(self, Self::Messages | Self::Responses));
            if let Some(name) = name {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {event}\n\n"));
        }
        if self == Self::Chat {
            body.push_str("data: [DONE]\n\n");
        }
        ("200 OK", "text/event-stream", body)
    }
}

/// All text of a value in any of these forms.
fn text_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_in).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match (part.get("text"), part.get("content")) {
            (Some(text), _) => text_in(text),
            (None, Some(content)) => text_in(content),
            (None, None) => String::new(),
        },
        _ => String::new(),
    }
}

fn block(block: &Value) -> Option<Part> {
    match block["type"].as_str()? {
        "text" => Some(Part::Prompt(text_in(block))),
        "tool_result" => Some(Part::Result {
            text: text_in(&block["content"]),
            failed: block["is_error"] == true,
        }),
        _ => None,
    }
}

fn id(prefix: &str) -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    format!(
        "{prefix}_{:016}",
        NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    )
}

fn messages(request: &Value, call: Option<Call>) -> (Value, Vec<Value>) {
    let (block, delta, stop) = match call {
        None => (
            json!({"type": "text", "text": DONE}),
            json!({"type": "text_delta", "text": DONE}),
            "end_turn",
        ),
        Some(call) => (
            json!({"type": "tool_use", "id": id("toolu"), "name": call.tool, "input": call.arguments}),
            json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()}),
            "tool_use",
        ),
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let whole = json!({"id": id("msg"), "type": "message", "role": "assistant", "model": request["model"],
        "content": [block], "stop_reason": stop, "stop_sequence": null, "usage": usage});
    let (mut begun, mut opened) = (whole.clone(), block.clone());
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    for key in ["text", "input"] {
        if opened.get(key).is_some() {
            opened[key] = if key == "text" { json!("") } else { json!({}) };
        }
    }
    let events = vec![
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": opened}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    (whole, events)
}

fn responses(request: &Value, call: Option<Call>) -> (Value, Vec<Value>) {
    let item = match call {
        None => {
            let text = json!({"type": "output_text", "text": DONE, "annotations": []});
            json!({"type": "message", "role": "assistant", "id": id("msg"), "content": [text]})
        }
        // A tool whose input is a plain text.
        Some(Call {
            tool,
            arguments: Value::String(input),
            ..
        }) => {
            json!({"type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"), "name": tool, "input": input})
        }
        Some(call) => {
            let mut item = json!({"type": "function_call", "id": id("fc"), "call_id": id("call"), "name": call.tool,
                "arguments": call.arguments.to_string()});
            if let Some(namespace) = call.namespace {
                item["namespace"] = namespace.into();
            }
            item
        }
    };
    let response = id("resp");
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    let whole = json!({"id": response, "object": "response", "status": "completed", "model": request["model"],
        "output": [item], "usage": usage});
    let begun = json!({"id": response, "object": "response", "status": "in_progress", "output": []});
    let events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ];
    (whole, events)
}

fn chat(request: &Value, call: Option<Call>) -> (Value, Vec<Value>) {
    let (message, reason) = match call {
        None => (json!({"role": "assistant", "content": DONE}), "stop"),
        Some(call) => {
            let function = json!({"name": call.tool, "arguments": call.arguments.to_string()});
            let call = json!({"index": 0, "id": id("call"), "type": "function", "function": function});
            (
                json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                "tool_calls",
            )
        }
    };
    let (chat, model) = (id("chatcmpl"), request["model"].clone());
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let made = |object: &str, choice: Value| {
        json!({"id": chat, "object": object, "created": 1_800_000_000, "model": model, "choices": [choice],
            "usage": usage})
    };
    let whole = made(
        "chat.completion",
        json!({"index": 0, "message": message, "finish_reason": reason}),
    );
    let chunk = |delta: Value, reason: Value| {
        made(
            "chat.completion.chunk",
            json!({"index": 0, "delta": delta, "finish_reason": reason}),
        )
    };
    let events = vec![
        chunk(message.clone(), Value::Null),
        chunk(json!({}), json!(reason)),
    ];
    (whole, events)
}

fn generate(request: &Value, call: Option<Call>) -> (Value, Vec<Value>) {
    let wants_json = ["responseJsonSchema", "responseSchema"]
        .iter()
        .any(|key| request["generationConfig"].get(key).is_some());
    let part = match call {
        Some(call) => json!({"functionCall": {"name": call.tool, "args": call.arguments}}),
        // Its questions to itself: who speaks next, how hard it is.
        None if wants_json => {
            let text = json!({"reasoning": "x", "next_speaker": "user", "model_choice": "flash",
                "complexity_score": 1, "complexity_reasoning": "x"});
            json!({"text": text.to_string()})
        }
        None => json!({"text": DONE}),
    };
    let candidate =
        json!({"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0});
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15});
    let whole = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub"});
    (whole.clone(), vec![whole])
}
