// What is wrong with session files.

import {
  examineSession,
  type SessionExamination,
  type SessionFinding,
  type SessionFindingKind,
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
