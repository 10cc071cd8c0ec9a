// Package dump exports the memories of a workspace as lines of JSON and imports such files. A dump
// contains targets, sessions with their messages, memories of every type with all versions, the
// identity and the soul.
//
//	err := service.Dump(ctx, ws, writer, dump.Options{}) // uses constant memory
//	loaded, err := service.Load(ctx, actor, reader)      // continues if it is repeated
//
// A file starts with a header. It ends with a line that has the number of lines and their SHA-256,
// so that truncated or changed files are rejected, and a signature of the deployment. Without a valid
// signature, a load takes nothing from the file that only the deployment can know: who wrote a text,
// and that it was accepted. Load checks the whole file before it writes
// anything. Then it writes what memories refer to in one transaction, batches of 500 memories in
// one each, and the identity and the soul in the last. Each transaction is an operation of its own,
// so that a repeated load continues. Existing rows are not changed.
package dump

import (
	"encoding/json"
	"time"

	"cairn/internal/domain/dumpfile"
)

// Format and Version are stored in the header of every file.
const (
	Format  = "cairn-memory"
	Version = 1
)

// Kinds of lines, in the order of a file.
const (
	KindHeader       = "header"
	KindTarget       = "target"
	KindConversation = "conversation"
	KindMessage      = "message"
	KindHistory      = "history"
	KindMemory       = "memory"

	KindEnd = "end"
)

// Header is the first line.
type Header struct {
	Kind      string           `json:"kind"`
	Format    string           `json:"format"`
	Version   int              `json:"version"`
	Workspace string           `json:"workspace"`
	DumpedAt  time.Time        `json:"dumped_at"`
	Model     string           `json:"embedding_model"`
	Dims      int              `json:"embedding_dimensions"`
	Vectors   bool             `json:"vectors"` // memory lines include vectors
	Counts    map[string]int64 `json:"counts"`
}

// End is the last line.
type End struct {
	Kind   string `json:"kind"`
	Lines  int    `json:"lines"`          // before this line
	SHA256 string `json:"sha256"`         // of all bytes before this line
	HMAC   string `json:"hmac,omitempty"` // of the same bytes, with the key of the deployment
}

// one is a decoded line of any kind.
type one struct {
	Target       *dumpfile.Target
	Conversation *dumpfile.Conversation
	Message      *dumpfile.Message
	History      *dumpfile.History
	Memory       *dumpfile.Memory
	Identity     *dumpfile.Document
	Soul         *dumpfile.Document
}

// decode decodes a line between the header and the last line.
func decode(kind string, raw []byte) (out one, known bool, err error) {
	read := func(into any) error { return json.Unmarshal(raw, into) }
	switch kind {
	case KindTarget:
		out.Target = &dumpfile.Target{}
		err = read(out.Target)
	case KindConversation:
		out.Conversation = &dumpfile.Conversation{}
		err = read(out.Conversation)
	case KindMessage:
		out.Message = &dumpfile.Message{}
		err = read(out.Message)
	case KindHistory:
		out.History = &dumpfile.History{}
		err = read(out.History)
	case KindMemory:
		out.Memory = &dumpfile.Memory{}
		err = read(out.Memory)
	case dumpfile.KindIdentity:
		out.Identity = &dumpfile.Document{}
		err = read(out.Identity)
	case dumpfile.KindSoul:
		out.Soul = &dumpfile.Document{}
		err = read(out.Soul)
	default:
		return out, false, nil
	}
	return out, true, err
}
