package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
)

// attach makes the message of a request one with attachments. Its text names the images, and ends with a mark for each
// recording.
func (b TurnRequest) attach(r *conversation.Request) error {
	if len(b.Attachments) == 0 {
		return nil
	}
	if b.Mode == contract.Observe {
		return fault.New(fault.InvalidArgument, "attachments are allowed only in mode answer",
			"omit attachments, or mode")
	}
	m := transcript.Message{Role: transcript.User, Name: r.Speaker}
	parts, marks := []string{b.Text}, []string(nil)
	for i, a := range b.Attachments {
		kind, mime := media.Sniff(a.Data, a.Type)
		switch kind {
		case media.Image:
			sum := sha256.Sum256(a.Data)
			parts = append(parts, media.ImageMark(a.Name, hex.EncodeToString(sum[:])))
		case media.Voice:
			marks = append(marks, media.VoiceMark)
		default:
			return fault.New(fault.InvalidArgument, fmt.Sprintf("attachment %d is no image and no recording", i),
				"send PNG, JPEG, GIF or WebP, or OGG, MP3, M4A, WAV, WebM, FLAC or AMR, in base64")
		}
		if kind == media.Image && !r.Spec.Images {
			r.Spec.Unread = append(r.Spec.Unread, media.Unread{Kind: kind, Problem: media.NoModel})
			continue
		}
		m.Attachments = append(m.Attachments, transcript.Attachment{Kind: kind, Type: mime, Content: a.Data})
	}
	m.Content = strings.TrimSpace(strings.Join(append(parts, marks...), "\n\n"))
	r.Text, r.Speaker, r.Inputs = "", "", []transcript.Message{m}
	return nil
}
