import { spawn } from "node:child_process";

// A first snapshot may take long; an agent that waits for ever helps nobody.
const PATIENCE = 60_000;

// Gives the exit code and what was said. A program that cannot be started must not stop the agent: then the code is null.
function tell(event, facts, directory) {
  return new Promise((resolve) => {
    const [program, ...words] = CALL;
    let said = "";
    let child;
    try {
      child = spawn(program, [...words, event], {
        cwd: directory,
        stdio: ["pipe", "ignore", "pipe"],
        timeout: PATIENCE,
      });
    } catch (error) {
      resolve({ code: null, said: String(error) });
      return;
    }
    child.on("error", (error) => resolve({ code: null, said: String(error) }));
    child.on("close", (code) => resolve({ code, said }));
    child.stderr.on("data", (data) => {
      said += data;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ hook_event_name: event, cwd: directory, ...facts }));
  });
}

export const JackinRecovery = async ({ directory }) => ({
  event: async ({ event }) => {
    if (event.type === "session.created") {
      await tell("session.created", { session_id: event.properties?.info?.id }, directory);
    }
  },
  "tool.execute.before": async (input, output) => {
    const { code, said } = await tell(
      "tool.execute.before",
      {
        session_id: input.sessionID,
        tool_name: input.tool,
        tool_input: output?.args,
        tool_use_id: input.callID,
      },
      directory,
    );
    // Only this code means no. Whatever else goes wrong is said by the program itself.
    if (code === 2) {
      throw new Error(said.trim() || "jackin recovery says no");
    }
  },
});
