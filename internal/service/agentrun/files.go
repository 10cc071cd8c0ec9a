package agentrun

import (
	"context"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Limits of the images of a request. Older ones are only named in the text of their messages.
const (
	imageTurns = 3        // turns after that of its message in which a request has an image
	maxImages  = 10       // of a request
	imageBytes = 50 << 20 // of all images of a request
)

// loadFiles reads the recordings of this turn, and the images that its requests have.
func (st *runState) loadFiles(ctx context.Context, tx store.Tx) (err error) {
	after := st.turn.Number - 1
	if st.spec.Images {
		after -= imageTurns
	}
	shows := slices.ContainsFunc(st.earlier, func(m conversation.TurnMessage) bool {
		return m.Turn > after && m.Role == transcript.User && strings.Contains(m.Content, media.ImagePrefix)
	})
	if st.spec.Voice > 0 || st.spec.Images && shows {
		st.files, err = tx.Transcripts().Attachments(ctx, st.turn.Conversation, after, st.turn.Number)
	}
	return err
}

// images returns the images of the messages of a request by their Seq: the newest ones that are within the limits, of
// this turn only if the model has rejected the request as too long.
func (st *runState) images(short bool) map[int][]llm.Image {
	out := map[int][]llm.Image{}
	n, size := 0, 0
	for _, f := range slices.Backward(st.files) {
		if !st.spec.Images || f.Kind != media.Image || short && f.Turn != st.turn.Number {
			continue
		}
		if n, size = n+1, size+f.Bytes; n > maxImages || size > imageBytes {
			break
		}
		out[f.Seq] = slices.Insert(out[f.Seq], 0, llm.Image{URL: f.URL()})
	}
	return out
}

// recordings returns the recordings of this turn.
func (st *runState) recordings() (out []conversation.Attachment) {
	for _, f := range st.files {
		if f.Kind == media.Voice && f.Turn == st.turn.Number {
			out = append(out, f)
		}
	}
	return out
}

// notice returns the text that states which files of the user were not read, empty if all were.
func (st *runState) notice() string {
	all := slices.Clone(st.spec.Unread)
	for _, f := range st.recordings() {
		switch {
		case f.Problem != "":
			all = append(all, media.Unread{Kind: media.Voice, Problem: f.Problem})
		case !f.Ended: // no attempt has succeeded
			all = append(all, media.Unread{Kind: media.Voice, Problem: media.Unavailable})
		}
	}
	return media.Notice(st.spec.Lang, all)
}

// unheard returns how a turn ends whose messages are recordings without words. It returns nil if there is something to
// answer.
func (st *runState) unheard() *ending {
	if st.spec.Voice == 0 || len(st.steps) > 0 {
		return nil
	}
	for _, m := range st.earlier {
		if m.Turn == st.turn.Number && strings.TrimSpace(strings.ReplaceAll(m.Content, media.VoiceMark, "")) != "" {
			return nil
		}
	}
	notice := st.notice()
	if notice == "" {
		return nil
	}
	return &ending{reason: agent.Final, answer: notice, told: true}
}
