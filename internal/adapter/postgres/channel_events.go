package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
	"cairn/internal/service/relay"
)

// eventAfter is the time after which the relay handles an event that its process has not handled.
const eventAfter = 3 * time.Second

// PutEvent stores an event with its route, and the task that handles it.
func (s channelStore) PutEvent(ctx context.Context, ws int64, e channel.Event) (route int64, err error) {
	body, err := encode("the event", e)
	if err != nil {
		return 0, err
	}
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		at, err := q.q.RouteOpen(ctx, dbsqlc.RouteOpenParams{
			WorkspaceID: q.ws,
			Account:     e.Place.Account,
			Chat: storable(
				e.Place.Chat,
			),
			Thread:       storable(e.Place.Thread),
			Conversation: storable(e.Place.Conversation()),
		})
		if err != nil {
			return classify("open the route", err)
		}
		_, err = q.q.EventPut(ctx, dbsqlc.EventPutParams{WorkspaceID: q.ws, Account: e.Place.Account,
			Key: storable(e.Key), RouteID: at, Body: body})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("store the event", err)
		}
		route = at
		return q.Outbox().Enqueue(ctx, relay.HandleEvents, strconv.FormatInt(at, 10), eventAfter)
	})
	return route, err
}

// NextEvent returns the first event of a route that is not handled. Without one, it removes the task: the lock
// keeps a new event from being stored in between.
func (s channelStore) NextEvent(ctx context.Context, ws, route int64) (out service.StoredEvent, found bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		conversation, err := q.q.RouteLock(ctx, dbsqlc.RouteLockParams{WorkspaceID: q.ws, ID: route})
		if err != nil && !isNoRows(err) { // no row: erased
			return classify("lock the route", err)
		}
		r, err := q.q.EventNext(ctx, dbsqlc.EventNextParams{WorkspaceID: q.ws, RouteID: route})
		if isNoRows(err) {
			return q.Outbox().Settle(ctx, relay.HandleEvents, strconv.FormatInt(route, 10))
		}
		if err != nil {
			return classify("find the next event", err)
		}
		found, out.ID, out.Conversation = true, r.ID, conversation
		if err := json.Unmarshal(r.Body, &out.Event); err != nil {
			return fmt.Errorf("decode event %d: %w", r.ID, err)
		}
		return nil
	})
	return out, found, err
}

// EndEvent marks an event as handled and stores what follows from it.
func (s channelStore) EndEvent(ctx context.Context, ws, id int64, o service.EventOutcome) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.EventHandled(ctx, dbsqlc.EventHandledParams{WorkspaceID: q.ws, ID: id})
		if err != nil {
			return classify("end the event", err)
		}
		if len(n) == 0 { // by another process
			return nil
		}
		route := n[0]
		if o.Renew {
			name, err := q.q.RouteBase(ctx, dbsqlc.RouteBaseParams{WorkspaceID: q.ws, ID: route})
			if err != nil {
				return classify("read the route", err)
			}
			place := channel.Place{Account: name.Account, Chat: name.Chat, Thread: name.Thread}
			if err := q.q.RouteNext(ctx, dbsqlc.RouteNextParams{WorkspaceID: q.ws, ID: route,
				Name: place.Conversation()}); err != nil {
				return classify("begin another conversation", err)
			}
		}
		if o.Reply == "" {
			return nil
		}
		body, err := encode("the delivery", service.DeliveryBody{Text: o.Reply})
		if err != nil {
			return err
		}
		_, err = q.q.DeliveryPut(ctx, dbsqlc.DeliveryPutParams{WorkspaceID: q.ws, RouteID: route,
			Source: fmt.Sprintf("event/%d", id), Body: body})
		if err != nil && !isNoRows(err) {
			return classify("store the delivery", err)
		}
		return q.enqueueDelivery(ctx, route)
	})
}
