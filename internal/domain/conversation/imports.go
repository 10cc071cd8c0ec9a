package conversation

import (
	"crypto/sha256"
	"time"

	"cairn/internal/domain/transcript"
)

// ImportChannel is the channel of conversations that were read from files.
const ImportChannel = "import"

// NewImport is a file that is to be stored.
type NewImport struct {
	Name         string
	Format       string // that the caller stated; empty if it was detected
	AllowUnknown bool
	Distill      bool
	Outcome      transcript.Verdict // of the conversations, as a person states it; may be empty
	SHA256       [sha256.Size]byte  // of the file
	Bytes        int64              // of the file
	Compressed   []byte             // the file, as zstd
	Report       transcript.ImportReport
}

// StoredImport is an import with its file.
type StoredImport struct {
	Name         string
	Format       string
	AllowUnknown bool
	Distill      bool
	Outcome      transcript.Verdict
	Compressed   []byte
	Stored       int  // conversations that the latest reading has stored
	Ended        bool // all are stored
}

// Import is an imported file.
type Import struct {
	ID            int64                   `json:"id"`
	Name          string                  `json:"name"`
	SHA256        string                  `json:"sha256"` // of the file, in hexadecimal digits
	Bytes         int64                   `json:"bytes"`  // of the file
	New           bool                    `json:"new"`    // the workspace did not have the file
	Distill       bool                    `json:"distill"`
	Report        transcript.ImportReport `json:"report"`
	Stored        int                     `json:"stored"`        // conversations that the latest reading has stored
	Conversations []string                `json:"conversations"` // IDs of those that any reading has stored
	CreatedAt     time.Time               `json:"created_at"`
	StoredAt      *time.Time              `json:"stored_at"` // when all were stored; null until then
}

// ImportPlace is where a conversation of a file is stored.
type ImportPlace struct {
	Number int64  // of the conversation
	ID     string // of the conversation; it keeps the ID that it had before its session grew
	Longer bool   // it has more messages, from a later version of the session
}

// OpenSpan is a received span that is not imported.
type OpenSpan struct {
	ID     int64
	Format string
	Line   []byte
}
