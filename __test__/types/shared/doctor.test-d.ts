// What is wrong with session files.

import {
  examineSession,
  repairSession,
  type SessionExamination,
  type SessionFinding,
  type SessionFindingKind,
  type SessionRepair,
} from "session-manager-native";
import { expectSame } from "./expect.js";

const examination = examineSession("/d/s.jsonl", { blobsDir: null });
expectSame<typeof examination, Promise<SessionExamination>>();
void examineSession("/d/s.jsonl");
void examineSession("/d/s.jsonl", { blobsDir: "/d/blobs" });
// @ts-expect-error a path must be given
void examineSession();

expectSame<SessionExamination["findings"], SessionFinding[]>();
expectSame<SessionFinding["kind"], SessionFindingKind>();
// @ts-expect-error no such kind
const kind: SessionFindingKind = "broken";
void kind;

const repair = repairSession("/d/s.jsonl");
expectSame<typeof repair, Promise<SessionRepair>>();
void repairSession("/d/s.jsonl", "/d/t.jsonl", { cwd: "/w" });
// @ts-expect-error the output is a path
void repairSession("/d/s.jsonl", 5);
