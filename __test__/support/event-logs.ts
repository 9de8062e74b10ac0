/** Directories of event logs for tests. */

import fs from "node:fs";
import path from "node:path";
import { makeTempDir } from "./temp-dir.js";

/** Contents in base64 by path. */
export type StoredFiles = Record<string, string>;

/** A fresh directory with these files. */
export function unpackStore(files: StoredFiles): string {
  const root = makeTempDir();
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, Buffer.from(content, "base64"));
  }
  return root;
}

/** The types of events that the host of the original knows. */
export const KNOWN_EVENT_TYPES =
  `agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy
  assistant/chunk assistant/message command/done command/run compaction/end compaction/prune
  compaction/start compaction/summary feedback/record goal/change hook/invoked hook/result llm/retry
  llm/retry-started permission/preset plan/mode request/context request/header sandbox/mode
  schedule/change session/end-seed session/title session/title-llm-request step/end step/start
  subagent/descriptor team/member team/message/delivered team/message/queued team/task todo/write
  tool-workflow/agent-end tool-workflow/agent-start tool-workflow/run-end tool-workflow/run-start
  tool/call tool/code-dispatch tool/code-dispatch-start tool/result turn/end turn/start user/message
  web/deepseek-search-llm-request`.split(/\s+/);
