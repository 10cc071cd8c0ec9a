package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// enqueueDelivery records the task that sends the deliveries of a route.
func (q Tx) enqueueDelivery(ctx context.Context, route int64) error {
	return q.Outbox().Enqueue(ctx, outbox.Deliver, strconv.FormatInt(route, 10), 0)
}

// putDelivery stores a delivery and the task that sends it, once for each source.
func (q Tx) putDelivery(ctx context.Context, route int64, source string, b channel.DeliveryBody) error {
	body, err := encode("the delivery", b)
	if err != nil {
		return err
	}
	_, err = q.q.DeliveryPut(ctx,
		dbsqlc.DeliveryPutParams{WorkspaceID: q.ws, RouteID: route, Source: source, Body: body})
	if err != nil && !isNoRows(err) {
		return classify("store the delivery", err)
	}
	return q.enqueueDelivery(ctx, route)
}

// DeliverHome stores a delivery to the home chat, if there is one, once for each source.
func (q Tx) DeliverHome(ctx context.Context, source string, b channel.DeliveryBody) error {
	body, err := encode("the delivery", b)
	if err != nil {
		return err
	}
	route, err := q.q.DeliveryHome(ctx, dbsqlc.DeliveryHomeParams{Source: source, Body: body, WorkspaceID: q.ws})
	if isNoRows(err) { // no home chat, or stored before
		return nil
	}
	if err != nil {
		return classify("store the delivery to the home chat", err)
	}
	return q.enqueueDelivery(ctx, route)
}

// BeginPartial lets a process change the partial reply of a run for a time.
func (s Channels) BeginPartial(ctx context.Context, ref run.Ref, route int64, message bool, lease time.Duration) (
	p channel.Partial, ok bool, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		r, err := q.q.PartialBegin(ctx, dbsqlc.PartialBeginParams{Message: message, Lease: lease, RouteID: route,
			WorkspaceID: q.ws, RunID: ref.Run})
		if isNoRows(err) {
			return nil
		}
		p, ok = channel.Partial{First: r.First, ID: r.PartialID}, err == nil
		return classify("begin a change of the partial reply", err)
	})
	return p, ok, err
}

// EndPartial ends a change of the partial reply of a run.
func (s Channels) EndPartial(ctx context.Context, ref run.Ref, id *string) error {
	return s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		if id != nil {
			id = new(storable(*id))
		}
		return classify("end a change of the partial reply", q.q.PartialEnd(ctx,
			dbsqlc.PartialEndParams{PartialID: id, WorkspaceID: q.ws, RunID: ref.Run}))
	})
}

// PartialOpen reports whether a run may get more text.
func (s Channels) PartialOpen(ctx context.Context, ref run.Ref) (open bool, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		open, err = q.q.PartialOpen(ctx, dbsqlc.PartialOpenParams{WorkspaceID: q.ws, RunID: ref.Run})
		return classify("read the state of the run", err)
	})
	return open, err
}

// PutResult stores the delivery of the result of a run, and removes the task that waits for it.
func (s Channels) PutResult(ctx context.Context, ws, route int64, run, text string) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		_, err := q.q.RouteLock(ctx, dbsqlc.RouteLockParams{WorkspaceID: q.ws, ID: route})
		if err != nil && !isNoRows(err) {
			return classify("read the route", err)
		}
		if err == nil && text != "" {
			if err := q.putDelivery(ctx, route, "run/"+run, channel.DeliveryBody{Text: text}); err != nil {
				return err
			}
		}
		return q.Outbox().Settle(ctx, outbox.ReportRun, fmt.Sprintf("%d/%s", route, run))
	})
}

// OpenRoute returns the account of a route, and whether a delivery of it is open.
func (s Channels) OpenRoute(ctx context.Context, ws, route int64) (account string, open bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.RouteOpenWork(ctx, dbsqlc.RouteOpenWorkParams{WorkspaceID: q.ws, ID: route})
		if isNoRows(err) { // erased
			return nil
		}
		account, open = r.Account, r.Open
		return classify("read the route", err)
	})
	return account, open, err
}

// NextDelivery returns the first open delivery of a route.
func (s Channels) NextDelivery(ctx context.Context, ws, route int64, quiet bool) (id int64, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		id, err = q.q.DeliveryNext(ctx, dbsqlc.DeliveryNextParams{WorkspaceID: q.ws, RouteID: route, Quiet: quiet})
		if isNoRows(err) {
			return nil
		}
		return classify("find the next delivery", err)
	})
	return id, err
}

// Delivery returns a delivery.
func (s Channels) Delivery(ctx context.Context, ws, id int64) (out channel.Delivery, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.DeliveryGet(ctx, dbsqlc.DeliveryGetParams{WorkspaceID: q.ws, ID: id})
		if err != nil {
			return classify(fmt.Sprintf("read delivery %d", id), err)
		}
		out = channel.Delivery{ID: r.ID, Route: r.RouteID, State: r.State,
			Place:   channel.Place{Account: r.Account, Chat: r.Chat, Thread: r.Thread},
			Partial: r.PartialID, Busy: time.Duration(r.BusySeconds * float64(time.Second))}
		if turn, ok := strings.CutPrefix(r.Source, "turn/"); ok {
			out.Run = turn
		}
		if err := json.Unmarshal(r.Body, &out.Body); err != nil {
			return fmt.Errorf("decode delivery %d: %w", id, err)
		}
		return nil
	})
	return out, err
}

// PutParts stores the messages of a delivery, once.
func (s Channels) PutParts(ctx context.Context, ws, id int64, texts []string) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		bodies := make([]string, len(texts))
		for i, text := range texts {
			bodies[i] = storable(text)
		}
		return classify("store the messages of a delivery",
			q.q.PartsPut(ctx, dbsqlc.PartsPutParams{WorkspaceID: q.ws, DeliveryID: id, Bodies: bodies}))
	})
}

// NextPart returns the first message that is not sent, and counts the attempt.
func (s Channels) NextPart(ctx context.Context, ws, id int64) (out channel.StoredPart, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.PartsCount(ctx, dbsqlc.PartsCountParams{WorkspaceID: q.ws, DeliveryID: id})
		if out.Parts = int(n); err != nil || n == 0 {
			return classify("count the messages of a delivery", err)
		}
		r, err := q.q.PartNext(ctx, dbsqlc.PartNextParams{WorkspaceID: q.ws, DeliveryID: id})
		if isNoRows(err) {
			return nil
		}
		out.Number, out.Text, out.Attempts = int(r.Number), r.Body, int(r.Attempts)
		return classify("take the next message of a delivery", err)
	})
	return out, err
}

// EndPart stores that a message was sent, or that the platform refused the attempt.
func (s Channels) EndPart(ctx context.Context, ws, id int64, number int, messageID string, sent bool) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		if !sent {
			return classify("store the refusal", q.q.PartRefused(ctx,
				dbsqlc.PartRefusedParams{WorkspaceID: q.ws, DeliveryID: id, Number: int32(number)}))
		}
		return classify("store that a message was sent", q.q.PartSent(ctx, dbsqlc.PartSentParams{
			MessageID: storable(messageID), WorkspaceID: q.ws, DeliveryID: id, Number: int32(number)}))
	})
}

// EndDelivery ends an open delivery.
func (s Channels) EndDelivery(ctx context.Context, ws, id int64, state, reason string, pause bool) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		route, err := q.q.DeliveryEnd(ctx, dbsqlc.DeliveryEndParams{State: state, Reason: storable(reason),
			WorkspaceID: q.ws, ID: id})
		if isNoRows(err) || err == nil && !pause {
			return nil
		}
		if err != nil {
			return classify("end the delivery", err)
		}
		return classify("pause the route", q.q.RoutePause(ctx,
			dbsqlc.RoutePauseParams{Paused: storable(reason), WorkspaceID: q.ws, ID: route}))
	})
}

// Deliveries lists deliveries, dead ones first, then the latest.
func (s Channels) Deliveries(ctx context.Context, ws int64, state string, before int64, dead bool, max int) (
	out []channel.DeliveryView, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.DeliveriesList(ctx,
			dbsqlc.DeliveriesListParams{WorkspaceID: q.ws, State: state, Before: before, BeforeDead: dead,
				MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, channel.DeliveryView{ID: r.ID, Source: r.Source, State: r.State, Reason: r.Reason,
				Place:    channel.Place{Account: r.Account, Chat: r.Chat, Thread: r.Thread},
				Attempts: int(r.Attempts), CreatedAt: r.CreatedAt, EndedAt: r.EndedAt})
		}
		return classify("list the deliveries", err)
	})
	return out, err
}

// Reopen makes a dead delivery open again, or drops one.
func (s Channels) Reopen(ctx context.Context, ws, id int64, drop bool) (found bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		if drop {
			n, err := q.q.DeliveryDrop(ctx, dbsqlc.DeliveryDropParams{WorkspaceID: q.ws, ID: id})
			found = n == 1
			return classify("drop the delivery", err)
		}
		route, err := q.q.DeliveryRetry(ctx, dbsqlc.DeliveryRetryParams{WorkspaceID: q.ws, ID: id})
		if isNoRows(err) {
			return nil
		}
		if found = err == nil; !found {
			return classify("open the delivery again", err)
		}
		if err := q.q.RoutePause(ctx, dbsqlc.RoutePauseParams{WorkspaceID: q.ws, ID: route}); err != nil {
			return classify("resume the route", err)
		}
		return q.enqueueDelivery(ctx, route)
	})
	return found, err
}

// DeliverReply makes the delivery of the reply of an ended turn, if its conversation belongs to a chat or it was
// scheduled. A withdrawn reply is not sent, and what the chat shows of it is deleted.
func (q TurnRepository) DeliverReply(ctx context.Context, t conversation.Turn, withdrawn bool) error {
	route, err := q.q.DeliveryOfTurn(ctx, dbsqlc.DeliveryOfTurnParams{WorkspaceID: q.ws, RunID: t.Run,
		Seq: int32(t.ReplySeq), ConversationID: t.Conversation, Scheduled: t.Origin == "scheduled",
		Withdrawn: withdrawn})
	if isNoRows(err) {
		return nil
	}
	if err != nil {
		return classify("store the delivery of the reply", err)
	}
	return Tx(q).enqueueDelivery(ctx, route)
}

// PutDigest sends a text about a run to the home chat of the workspace, if it has one.
func (q WorkspaceRepository) PutDigest(ctx context.Context, run, text string) error {
	return Tx(q).DeliverHome(ctx, "reflection/"+run, channel.DeliveryBody{Text: text})
}
