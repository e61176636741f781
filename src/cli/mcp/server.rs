//! The server: it speaks the protocol, and calls one tool at a time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool as Definition,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use tokio::sync::Mutex as Turn;

use super::bound::Bound;
use super::call::call;
use super::lines;
use super::tools::{Right, Tool};
use crate::diagnostic::{Diagnostic, ErrorKind};

/// Interval between checks for a request to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Instructions that the server sends to a model.
const INSTRUCTIONS: &str = "\
    Snapshots of the project's files, including ignored files and .git. Take one with snapshot_create before a \
    destructive step; snapshot_diff shows what changed since. snapshot_restore and snapshot_fork are offered if the \
    operator allows them. The operator can restore every file as it was before this session.";

/// Failure that ended the server before its client did.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ServeError {
    /// Threads or timers cannot be had.
    #[error("the server cannot be started: {0}")]
    Start(io::Error),
    /// Input that is not in the expected protocol.
    #[error("the input is not the Model Context Protocol")]
    Protocol,
    /// The server broke down.
    #[error("the server failed: {0}")]
    Broken(tokio::task::JoinError),
}

impl Diagnostic for ServeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Failed
    }
}

/// Serves until the client leaves, or `over` says so. A running tool is then asked to stop, and waited for: a
/// restore is done, or not begun, or waits to be resumed, as ever. What had not begun does not begin.
///
/// # Errors
/// [`ServeError`].
pub(in crate::cli) fn serve(bound: Bound, over: &AtomicBool) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(ServeError::Start)?;
    let server = Server {
        bound: Arc::new(bound),
        turn: Arc::default(),
        stop: Arc::default(),
    };
    let (turn, stop) = (Arc::clone(&server.turn), Arc::clone(&server.stop));
    let served = runtime.block_on(async {
        tokio::select! {
            served = converse(server) => served,
            () = asked(over) => Ok(()),
        }
    });
    stop.store(true, Ordering::SeqCst);
    // With its tasks go those who wait for their turn. Standard input may never say anything again, and a thread waits for it.
    runtime.shutdown_background();
    drop(turn.blocking_lock());
    served
}

async fn converse(server: Server) -> Result<(), ServeError> {
    let running = match server.serve((lines::input(), tokio::io::stdout())).await {
        Ok(running) => running,
        // Nobody said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(_) => return Err(ServeError::Protocol),
    };
    running.waiting().await.map(drop).map_err(ServeError::Broken)
}

async fn asked(over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Longest name of a tool or a method that is repeated in an error, in characters.
const LONGEST_NAME: usize = 100;

struct Server {
    bound: Arc<Bound>,
    /// Lock that serializes the tools: changes do not overlap, and readers see a consistent tree.
    turn: Arc<Turn<()>>,
    /// Asks the running tool to stop.
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Runs `work` on a thread of its own when it is its turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bound, Arc<AtomicBool>) -> T + Send + 'static,
        cancelled: impl Future<Output = ()>,
    ) -> Result<T, ErrorData> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        // Whoever was asked before us is done.
        self.stop.store(false, Ordering::SeqCst);
        let (bound, asked) = (Arc::clone(&self.bound), Arc::clone(&self.stop));
        let mut task = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&bound, asked)
        });
        let done = tokio::select! {
            done = &mut task => done,
            () = cancelled => {
                self.stop.store(true, Ordering::SeqCst);
                task.await
            }
        };
        done.map_err(|error| ErrorData::internal_error(format!("the tool failed: {error}"), None))
    }

    async fn right(&self) -> Result<Right, ErrorData> {
        self.in_turn(|bound, _| bound.right(), std::future::pending())
            .await
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("jackin-recovery", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let right = self.right().await?;
        let offered = Tool::ALL.into_iter().filter(|tool| tool.needs() <= right);
        Ok(ListToolsResult::with_all_items(
            offered.map(Tool::definition).collect(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Definition> {
        Tool::named(name).map(Tool::definition)
    }

    /// Answers what is no request of the protocol, or has no parameters of one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(LONGEST_NAME).collect();
        Err(match method.as_str() {
            "tools/call" => {
                let wanted = "tools/call needs `name`, which is text; `arguments` are an object or absent";
                ErrorData::invalid_params(wanted, None)
            }
            lines::UNREADABLE => ErrorData::parse_error("the message cannot be read", None),
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            let name: String = request.name.chars().take(LONGEST_NAME).collect();
            let message = format!("unknown tool {name:?}");
            return Err(ErrorData::invalid_params(message, None));
        };
        let given = request.arguments.unwrap_or_default();
        let cancelled = context.ct.clone();
        let called = self
            .in_turn(move |bound, stop| call(bound, tool, given, stop), async move {
                cancelled.cancelled().await
            })
            .await?;
        let result = match called {
            Ok(reply) => {
                let texts = std::iter::once(reply.text).chain(reply.beside);
                let mut result = CallToolResult::success(texts.map(ContentBlock::text).collect());
                result.structured_content = Some(reply.structured);
                result
            }
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
