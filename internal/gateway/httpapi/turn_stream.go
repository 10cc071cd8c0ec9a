package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
)

// ReplyDelta is text of a reply that the model is writing.
type ReplyDelta struct {
	Step int    `json:"step" doc:"Number of the model response in the turn; a response before a tool call is not the reply"`
	Text string `json:"text" doc:"In delta, text that follows. In reset, all text of the step so far: discard what you have of it"`
}

// replyAbout describes the events in the OpenAPI document.
const replyAbout = " With stream, the response is server-sent events: `delta` carries text of the reply as the " +
	"model writes it; `reset` replaces the text of a step, because a second attempt at the model call gave other " +
	"text. The last event is `end` with the body of the plain response, or `error` with a standard error. Only " +
	"`end` is the reply. Without wait, the stream ends with the turn."

// replyEvents describes a response that is a turn, or events that end with one.
func replyEvents(g *Gateway) map[string]*huma.MediaType {
	all := content("application/json", schemaOf[TurnAnswer](g))
	all[edge.EventText] = &huma.MediaType{Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[ReplyDelta](g), schemaOf[TurnAnswer](g), schemaOf[edge.Problem](g)}}}
	return all
}

// turnStream sends a turn to its conversation and streams its reply.
func (g *Gateway) turnStream(ctx context.Context, r conversation.Request, accepted conversation.AcceptedTurn,
	wait *int) (*repliedOutput, error) {
	if !accepted.Turn.Ended {
		if err := g.answer(ctx, r, accepted.Run, 0); err != nil {
			return nil, err
		}
	}
	return g.replyStream(ctx, "turn", r.Conversation, r.MessageID, domainconversation.ReplyPosition{}, wait)
}

func (g *Gateway) streamTurn(ctx context.Context, in *struct {
	ConversationPath
	MessageID   string `path:"message_id" doc:"The caller's ID of the message"`
	LastEventID string `header:"Last-Event-ID" doc:"ID of the last event that the client received; the stream continues after it"`
}) (*repliedOutput, error) {
	if err := g.streamRoom(ctx); err != nil {
		return nil, err
	}
	seen, err := positionOf(in.LastEventID)
	if err != nil {
		return nil, err
	}
	return g.replyStream(ctx, "streamTurn", in.ID, in.MessageID, seen, nil)
}

// replyStream streams the reply to a message from a position on.
func (g *Gateway) replyStream(ctx context.Context, doing, conversation, message string,
	seen domainconversation.ReplyPosition,
	wait *int) (*repliedOutput, error) {
	status, err := g.Inbox.Answer(ctx, workspace(ctx), conversation, message)
	if err != nil {
		return nil, err
	}
	ref := run.Ref{Workspace: workspace(ctx), Run: status.Run}
	out, err := g.answered(ctx, conversation, message)
	if err != nil {
		return nil, err
	}
	w := watched{
		progress: func(ctx context.Context) (any, bool, error) {
			now, err := g.Inbox.Answer(ctx, ref.Workspace, conversation, message)
			return nil, now.Status == string(run.Ended), err
		},
		report: func(ctx context.Context) (any, error) {
			out, err := g.answered(ctx, conversation, message)
			if err != nil {
				return nil, err
			}
			return out.Body, nil
		},
		reply: &watchedReply{ref: ref, seen: seen, text: func(ctx context.Context) (string, bool, error) {
			now, err := g.Inbox.Answer(ctx, ref.Workspace, conversation, message)
			return now.Reply, now.Status == string(run.Ended), err
		}},
	}
	if wait != nil {
		w.enough = after(time.Duration(*wait) * time.Second)
	}
	return &repliedOutput{Location: out.Location,
		Body: g.streamed(doing, "", w, event{ended: status.Status == string(run.Ended)})}, nil
}

// positionOf reads the ID of an event.
func positionOf(id string) (p domainconversation.ReplyPosition, err error) {
	if id == "" {
		return p, nil
	}
	if n, err := fmt.Sscanf(id, "%d.%d.%d", &p.Step, &p.Attempt, &p.Seq); err != nil || n != 3 || eventID(p) != id ||
		min(p.Step, p.Attempt, p.Seq) < 0 || max(p.Step, p.Attempt, p.Seq) > math.MaxInt32 {
		return p, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid Last-Event-ID %.40q", id),
			"send the ID of an event of this stream, or omit the header")
	}
	return p, nil
}

func eventID(p domainconversation.ReplyPosition) string {
	return fmt.Sprintf("%d.%d.%d", p.Step, p.Attempt, p.Seq)
}

// watchedReply is the reply of a turn.
type watchedReply struct {
	ref  run.Ref
	seen domainconversation.ReplyPosition // the client has the text up to here
	text func(context.Context) (reply string, ended bool, err error)
}

// finish sends what the client has not seen of the reply, if the turn has ended.
func (w watchedReply) finish(ctx context.Context, s *stream, f *replystream.Follower) error {
	reply, ended, err := w.text(ctx)
	if err != nil || !ended {
		return err
	}
	deltas, err := f.Finish(ctx, reply)
	if err != nil {
		return err
	}
	return s.sendDeltas(deltas)
}

// sendDeltas sends text that is new to the client.
func (s *stream) sendDeltas(deltas []replystream.Delta) error {
	for _, d := range deltas {
		data, err := json.Marshal(ReplyDelta{Step: d.Step, Text: d.Text})
		if err != nil {
			return fmt.Errorf("encode the text: %w", err)
		}
		name := "delta"
		if d.Reset {
			name = "reset"
		}
		if err := s.send(name, event{id: eventID(d.ReplyPosition), data: data}); err != nil {
			return err
		}
	}
	return nil
}
