package replystream

import (
	"context"
	"strings"
	"unicode"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
)

// Source reads chunks.
type Source interface {
	// Chunks returns up to max chunks of a run after a position, in order.
	Chunks(ctx context.Context, ref run.Ref, after conversation.ReplyPosition, max int) ([]conversation.ReplyChunk,
		error)
	// Steps returns the stored text of each step of a run, in order.
	Steps(ctx context.Context, ref run.Ref) ([]conversation.ReplyStep, error)
}

// Reader reads the chunks of runs.
type Reader struct{ source Source }

// NewReader returns a Reader.
func NewReader(source Source) *Reader {
	return &Reader{source}
}

// Follow returns a follower of a run whose client has seen the deltas up to a position. The zero
// position is the beginning.
func (r *Reader) Follow(ref run.Ref, seen conversation.ReplyPosition) *Follower {
	return &Follower{reader: r, ref: ref, seen: seen, at: conversation.ReplyPosition{Step: seen.Step,
		Attempt: seen.Attempt}}
}

// Written returns the text of the latest attempt at the first step after a step. It is empty if there is
// none, and ends before a lost chunk.
func (r *Reader) Written(ctx context.Context, ref run.Ref, after int) (string, error) {
	f := r.Follow(ref, conversation.ReplyPosition{})
	f.at.Step = after + 1
	if _, err := f.Next(ctx); err != nil {
		return "", err
	}
	return strings.TrimSpace(f.text.String()), nil
}

// Delta is text that a client has not seen.
type Delta struct {
	conversation.ReplyPosition
	Text string
	// Reset means that an earlier attempt at the step gave other text: what the client has of the step
	// is void, and Text is all of it.
	Reset bool
}

// Follower turns the chunks of a run into deltas. A new attempt at a step repeats text; it is held
// back while it equals what the client has. A Follower has one user.
type Follower struct {
	reader *Reader
	ref    run.Ref
	seen   conversation.ReplyPosition
	at     conversation.ReplyPosition
	gap    bool            // a chunk of the attempt is lost, so the rest cannot be shown
	shown  string          // text of the step that the client has
	text   strings.Builder // text of the attempt so far
}

const chunksAtOnce = 500

// Next returns the deltas since the last call.
func (f *Follower) Next(ctx context.Context) (out []Delta, err error) {
	for {
		chunks, err := f.reader.source.Chunks(ctx, f.ref, f.at, chunksAtOnce)
		if err != nil {
			return out, err
		}
		for _, c := range chunks {
			if d, ok := f.take(c); ok {
				out = append(out, d)
			}
		}
		if len(chunks) < chunksAtOnce {
			return out, nil
		}
	}
}

// take adds a chunk, and returns what is new to the client.
func (f *Follower) take(c conversation.ReplyChunk) (d Delta, ok bool) {
	switch {
	case c.Step != f.at.Step:
		f.shown, f.gap = "", false
		f.text.Reset()
	case c.Attempt != f.at.Attempt:
		f.gap = false
		f.text.Reset()
	}
	before := f.at
	if f.at = c.ReplyPosition; c.Step != before.Step || c.Attempt != before.Attempt {
		before.Seq = 0
	}
	if f.gap = f.gap || c.Seq != before.Seq+1; f.gap {
		return d, false
	}
	f.text.WriteString(c.Text)
	text, shown := f.text.String(), f.shown
	switch {
	case c.Step == f.seen.Step && c.Attempt == f.seen.Attempt && c.Seq <= f.seen.Seq:
		f.shown = text
		return d, false
	case strings.HasPrefix(shown, text): // a repetition
		return d, false
	}
	f.shown = text
	if rest, ok := strings.CutPrefix(text, shown); ok {
		return Delta{ReplyPosition: c.ReplyPosition, Text: rest}, true
	}
	return Delta{ReplyPosition: c.ReplyPosition, Text: text, Reset: true}, true
}

// Finish returns what the client has not seen of an ended run: text whose chunks were lost or came too
// late. After it, the deltas of the last step add up to the reply.
func (f *Follower) Finish(ctx context.Context, reply string) (out []Delta, err error) {
	steps, err := f.reader.source.Steps(ctx, f.ref)
	if err != nil {
		return nil, err
	}
	if len(steps) == 0 { // the turn ended before the first response
		steps = []conversation.ReplyStep{{Number: max(f.at.Step, 1)}}
	}
	steps[len(steps)-1].Text = reply
	for _, s := range steps {
		if d, ok := f.complete(s); ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// complete compares what the client has of a step with its stored text, which has no space around it.
func (f *Follower) complete(s conversation.ReplyStep) (d Delta, ok bool) {
	switch {
	case s.Number < f.at.Step:
		return d, false
	case s.Number > f.at.Step:
		f.at, f.shown = conversation.ReplyPosition{Step: s.Number}, ""
	case strings.TrimSpace(f.shown) == s.Text:
		return d, false
	}
	f.at.Seq++
	d = Delta{ReplyPosition: f.at, Text: s.Text, Reset: true}
	if f.shown == "" && s.Number == f.seen.Step && f.seen.Seq > 0 {
		return d, true // the client has text whose chunks are deleted
	}
	if rest, ok := strings.CutPrefix(s.Text, strings.TrimLeftFunc(f.shown, unicode.IsSpace)); ok {
		d.Text, d.Reset = rest, false
	}
	f.shown = s.Text
	return d, d.Reset || d.Text != ""
}
