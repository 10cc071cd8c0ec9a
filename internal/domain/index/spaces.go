package index

import "time"

// Space is a row of the list of embedding spaces.
type Space struct {
	ID    int16
	Model string
	Dims  int
}

// SpaceUse are the spaces of a workspace.
type SpaceUse struct {
	Active   Space   // ID 0 before the first vector
	Building []Space // targets of running re-embeddings
}

// States of a re-embedding.
const (
	ReembedRunning = "running"
	ReembedPaused  = "paused"
)

// SpaceState describes a space of a workspace.
type SpaceState struct {
	Space
	Retired  bool // its vectors were dropped
	Active   bool // the workspace uses it
	Previous bool // the workspace can return to it
	Vectors  int  // of the workspace
}

// SpaceSize is a number of documents and of characters in them.
type SpaceSize struct {
	Documents  int
	Characters int64
}

// SpaceDocument is a document to embed.
type SpaceDocument struct {
	ID   int64
	Text string
}

// ReembedProgress is the row of a re-embedding.
type ReembedProgress struct {
	Space      int16
	Model      string
	Dims       int
	Last       int64 // number of the last handled document
	Done       int   // vectors written
	Total      int
	Failed     int // documents that the model refused
	Rate       int
	State      string
	Reason     string
	StartedAt  time.Time
	FinishedAt *time.Time
}

// Ended reports whether the re-embedding is over.
func (p ReembedProgress) Ended() bool { return p.State != ReembedRunning && p.State != ReembedPaused }

// SpaceAdvance is one step of a re-embedding.
type SpaceAdvance struct {
	Last            int64
	Written, Failed int
}

// Refusal is a document that a model refused to embed.
type Refusal struct {
	Kind   string `json:"kind" doc:"Kind of the document: turn, memory, skill or chunk"`
	Name   string `json:"name,omitempty" doc:"ID of the memory, name of the skill, or conversation#seq of the turn"`
	Reason string `json:"reason" doc:"Error of the endpoint"`
}
