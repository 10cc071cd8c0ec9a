package agentrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// spokenRunes limits the words of a recording in its message.
const spokenRunes = 20_000

// Transcribe writes the words of the recordings of a turn into its messages. It runs before the first step. A recording
// without words gets the reason, which the reply states. Repeating it pays for no recording again.
func (s *Service) Transcribe(ctx context.Context, in contract.RunRef) error {
	st := &runState{}
	err := s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if st.run, st.steps, st.turn, err = tx.Steps().Job(ctx, in.Run); err != nil || st.run.Status == run.Ended {
			return err
		}
		if st.spec, err = SpecOf(st.run); err == nil {
			st.files, err = tx.Transcripts().Attachments(ctx, st.turn.Conversation, st.turn.Number-1, st.turn.Number)
		}
		return err
	})
	if err != nil {
		return err
	}
	said := map[int64]spoken{}
	for i, f := range st.recordings() {
		if f.Ended {
			continue
		}
		if said[f.ID], err = s.transcribe(ctx, st, i, f); err != nil {
			return err
		}
	}
	if len(said) == 0 {
		return nil
	}
	return s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		open, err := tx.Runs().RequireOpenRun(ctx, in.Run)
		if err != nil || !open { // the reply states that the words are missing
			return err
		}
		return st.storeSpoken(ctx, tx, said)
	})
}

// spoken are the words of a recording, or why there are none.
type spoken struct {
	text    string
	problem media.Problem
}

// transcribe returns the words of the recording number n of a turn. Errors may pass.
func (s *Service) transcribe(ctx context.Context, st *runState, n int, f conversation.Attachment) (spoken, error) {
	if s.Transcriber == nil {
		return spoken{problem: media.NoModel}, nil
	}
	step := fmt.Sprintf("transcribe/%d", n)
	reply, err := s.Transcriber.Ledger.Call(ctx, run.CallKey{Ref: st.run.Ref, Step: step},
		llm.Request{Model: s.Transcriber.Model, Audio: &llm.Audio{URL: f.URL(), Bytes: f.Bytes},
			Label: llm.Label{Stage: "transcribe", Run: st.run.Ref.Run, Task: step}}, 0)
	if f, permanent := ledger.IsPermanent(err); permanent {
		if f.Code == fault.QuotaExceeded || f.Code == fault.ModelAuth { // not because of the recording
			return spoken{problem: media.Unavailable}, nil
		}
		return spoken{problem: media.Refused}, nil
	}
	if err != nil {
		return spoken{}, err
	}
	text := strings.TrimSpace(reply.Text)
	if text == "" {
		return spoken{problem: media.Empty}, nil
	}
	return spoken{text: transcript.Clip(text, spokenRunes)}, nil
}

// storeSpoken replaces the marks at the end of the messages of a turn by the words of their recordings.
func (st *runState) storeSpoken(ctx context.Context, tx store.Tx, said map[int64]spoken) error {
	messages, err := tx.Transcripts().Messages(ctx, st.turn.Conversation, st.turn.Number-1, st.turn.Number)
	if err != nil {
		return err
	}
	for _, m := range messages {
		var marks, words []string
		for _, f := range st.recordings() {
			if f.Seq != m.Seq {
				continue
			}
			marks = append(marks, media.VoiceMark)
			words = append(words, strings.TrimSpace(media.VoiceMark+" "+said[f.ID].text))
			if err := tx.Transcripts().EndRecording(ctx, f.ID, said[f.ID].problem); err != nil {
				return err
			}
		}
		caption, found := strings.CutSuffix(m.Content, strings.Join(marks, "\n\n"))
		if len(marks) == 0 || !found || slices.Equal(marks, words) { // not found: the user has deleted the message
			continue
		}
		becomes := caption + strings.Join(words, "\n\n")
		if err := tx.Transcripts().ReplaceText(ctx, st.turn.Conversation, m.Seq, m.Content, becomes); err != nil {
			return err
		}
	}
	return nil
}
