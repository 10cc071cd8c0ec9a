package conversation

import "cairn/internal/domain/run"

// ReplyStep is the stored text of a model response.
type ReplyStep struct {
	Number int
	Text   string
}

// ReplyChunk is a part of the text that a model writes in a step of a run.
type ReplyChunk struct {
	Ref run.Ref
	ReplyPosition
	Text string
}

// ReplyPosition orders the chunks of a run. Only chunks of the latest attempt at a step count.
type ReplyPosition struct {
	Step    int
	Attempt int // at the model call of the step
	Seq     int // from 1
}
