package store

import (
	"context"
	"encoding/hex"
	"fmt"

	"cairn/internal/domain/channel"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// AttachmentContent returns the content of an attachment of a workspace.
func (s *Store) AttachmentContent(ctx context.Context, ws int64, sha256 string) (content []byte, err error) {
	sum, err := hex.DecodeString(sha256)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid SHA-256 %.80q", sha256), "")
	}
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		content, err = q.q.AttachmentContent(ctx, dbsqlc.AttachmentContentParams{WorkspaceID: q.ws, Sha256: sum})
		if isNoRows(err) {
			return fault.New(fault.NotFound, "attachment not found", "")
		}
		return classify("read an attachment", err)
	})
	return content, err
}

// putEventFiles stores the images and recordings of an event.
func (q Tx) putEventFiles(ctx context.Context, event int64, e channel.Event) error {
	for i, a := range e.Attachments {
		if !a.Stored() || len(a.Content) == 0 { // stored before
			continue
		}
		err := q.q.AttachmentPutEvent(ctx, dbsqlc.AttachmentPutEventParams{WorkspaceID: q.ws, EventID: &event,
			Position: int32(i), Content: a.Content, Kind: string(a.Kind), Type: storable(a.Type)})
		if err != nil {
			return classify("store a file of an event", err)
		}
	}
	return nil
}

// PutAttachments stores the images and recordings of the messages of a turn, which have their Seq. Those of events are
// moved.
func (q TranscriptRepository) PutAttachments(ctx context.Context, conversation int64, turn int,
	ms []transcript.Message) error {
	number := int32(turn)
	for _, m := range ms {
		seq := int32(m.Seq)
		for i, a := range m.Attachments {
			var err error
			if a.Event != 0 {
				err = q.q.AttachmentMove(ctx, dbsqlc.AttachmentMoveParams{ConversationID: &conversation, Turn: &number,
					Seq: &seq, Position: int32(i), WorkspaceID: q.ws, EventID: &a.Event, Was: int32(a.Position)})
			} else {
				err = q.q.AttachmentPut(ctx, dbsqlc.AttachmentPutParams{WorkspaceID: q.ws,
					ConversationID: &conversation, Turn: &number, Seq: &seq, Position: int32(i), Content: a.Content,
					Kind: string(a.Kind), Type: storable(a.Type)})
			}
			if err != nil {
				return classify("store a file of a message", err)
			}
		}
	}
	return nil
}

// Attachments reads the images and recordings of the turns after one turn up to another, in the order of the messages.
func (q TranscriptRepository) Attachments(ctx context.Context, conversation int64, after, to int) (
	out []domainconversation.Attachment, err error) {
	rows, err := q.q.AttachmentsOf(ctx, dbsqlc.AttachmentsOfParams{WorkspaceID: q.ws, ConversationID: &conversation,
		AfterTurn: int32(after), ToTurn: int32(to)})
	for _, r := range rows {
		out = append(out, domainconversation.Attachment{ID: r.ID, SHA256: hex.EncodeToString(r.Sha256),
			Kind: media.Kind(r.Kind),
			Type: r.Type, Bytes: int(r.Bytes), Turn: int(*r.Turn), Seq: int(*r.Seq), Ended: r.Emptied,
			Problem: media.Problem(r.Problem)})
	}
	return out, classify("read the attachments", err)
}

// EndRecording deletes the content of a recording whose words are known, or cannot be, which problem states.
func (q TranscriptRepository) EndRecording(ctx context.Context, id int64, problem media.Problem) error {
	return classify("end a recording", q.q.AttachmentEnd(ctx,
		dbsqlc.AttachmentEndParams{Problem: string(problem), WorkspaceID: q.ws, ID: id}))
}

// ReplaceText replaces the text of a user's message, unless it is not the given one.
func (q TranscriptRepository) ReplaceText(ctx context.Context, conversation int64, seq int, was, becomes string) error {
	_, err := q.q.MessageTranscribe(ctx, dbsqlc.MessageTranscribeParams{ConversationID: conversation, Seq: int32(seq),
		Was: was, Becomes: storable(becomes)})
	return classify("store the words of a recording", err)
}

// attachmentsAtOnce is the maximum number of rows in one deletion of expired attachments.
const attachmentsAtOnce = 20

func (s *Store) purgeAttachments(ctx context.Context) (int, error) {
	var n int64
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.AttachmentsPurge(ctx, attachmentsAtOnce)
		return err
	})
	return int(n), classify("purge expired attachments", err)
}
