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

// A sub-agent has a session of its own below that of the conversation. What it does belongs to the conversation.
function conversations(client) {
  const parents = new Map();

  // Gives the session above, or null for a conversation.
  async function parent(session) {
    if (!parents.has(session)) {
      try {
        const { data } = await client.session.get({ path: { id: session } });
        parents.set(session, data?.parentID ?? null);
      } catch {
        return null;
      }
    }
    return parents.get(session);
  }

  return {
    learn: (info) => parents.set(info.id, info.parentID ?? null),
    of: async (session) => {
      const seen = new Set();
      let at = session;
      for (let above = await parent(at); above && !seen.has(above); above = await parent(at)) {
        seen.add(at);
        at = above;
      }
      return at;
    },
  };
}

export const JackinRecovery = async ({ client, directory }) => {
  const { learn, of } = conversations(client);
  // Conversations that have begun here and not ended.
  const open = new Set();

  // Reports of the ends of turns that are under way. The end of a conversation must not overtake that of its last turn: what the agent did in
  // that turn would be taken for the operator's.
  const resting = new Map();

  async function rest(session) {
    const told = tell("session.idle", { session_id: session }, directory);
    resting.set(session, told);
    await told;
  }

  async function end(session) {
    if (open.delete(session)) {
      await resting.get(session);
      await tell("session.deleted", { session_id: session }, directory);
    }
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info;
      if (event.type === "session.created" && info) {
        learn(info);
        if (!info.parentID) {
          open.add(info.id);
          await tell("session.created", { session_id: info.id }, directory);
        }
      }
      if (event.type === "session.idle") {
        const session = event.properties?.sessionID;
        if (open.has(session)) {
          await rest(session);
        }
      }
      if (event.type === "session.deleted" && info) {
        await end(info.id);
      }
    },
    "chat.message": async (input, output) => {
      // The prompt of a sub-agent comes from a model.
      if ((await of(input.sessionID)) !== input.sessionID) {
        return;
      }
      open.add(input.sessionID);
      const texts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      const prompt = texts.map((part) => part.text).join("\n");
      await tell("chat.message", { session_id: input.sessionID, prompt }, directory);
    },
    "tool.execute.before": async (input, output) => {
      const session = await of(input.sessionID);
      open.add(session);
      const { code, said } = await tell(
        "tool.execute.before",
        {
          session_id: session,
          tool_name: input.tool,
          tool_input: output?.args,
          tool_use_id: input.callID,
          agent_id: session === input.sessionID ? undefined : input.sessionID,
        },
        directory,
      );
      // Only this code means no. Whatever else goes wrong is said by the program itself.
      if (code === 2) {
        throw new Error(said.trim() || "jackin recovery says no");
      }
    },
    // A call that fails does not come here: it ends with the turn.
    "tool.execute.after": async (input) => {
      const session = await of(input.sessionID);
      await tell(
        "tool.execute.after",
        {
          session_id: session,
          tool_name: input.tool,
          tool_input: input.args,
          tool_use_id: input.callID,
        },
        directory,
      );
    },
    // The last thing that opencode does in a directory, also when it quits.
    dispose: async () => {
      await Promise.all([...open].map(end));
    },
  };
};
