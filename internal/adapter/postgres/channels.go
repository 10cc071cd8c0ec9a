package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/agentrun"
	service "cairn/internal/service/channel"
	"cairn/internal/service/relay"
)

// ChannelAccounts returns the store of accounts of chat platforms.
func (s *Store) ChannelAccounts() service.Accounts { return channelStore{s} }

// People returns the store of the users of accounts.
func (s *Store) People() service.People { return channelStore{s} }

// Pairings returns the store of open requests to write.
func (s *Store) Pairings() service.Pairings { return channelStore{s} }

// ChannelEvents returns the store of received messages.
func (s *Store) ChannelEvents() service.Events { return channelStore{s} }

// Deliveries returns the store of messages to send.
func (s *Store) Deliveries() service.Deliveries { return channelStore{s} }

// DeliveryList returns the store of deliveries for operators.
func (s *Store) DeliveryList() service.DeliveryList { return channelStore{s} }

type channelStore struct{ *Store }

// PutAccount stores an account of the configuration.
func (s channelStore) PutAccount(ctx context.Context, name, platform string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("store the account", q.AccountPut(ctx, dbsqlc.AccountPutParams{Name: name, Platform: platform}))
	})
}

// Lease takes an account, or extends the lease.
func (s channelStore) Lease(ctx context.Context, name string, holder uuid.UUID, lease time.Duration) (cursor string,
	held bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		cursors, err := q.AccountLease(
			ctx,
			dbsqlc.AccountLeaseParams{Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}, Lease: lease},
		)
		if held = len(cursors) > 0; held {
			cursor = cursors[0]
		}
		return classify("take the account", err)
	})
	return cursor, held, err
}

// Release gives an account to another process.
func (s channelStore) Release(ctx context.Context, name string, holder uuid.UUID) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify(
			"release the account",
			q.AccountRelease(
				ctx,
				dbsqlc.AccountReleaseParams{Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}},
			),
		)
	})
}

// SaveCursor stores the place after the last stored event.
func (s channelStore) SaveCursor(ctx context.Context, name string, holder uuid.UUID, cursor string) (held bool,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.AccountCursor(
			ctx,
			dbsqlc.AccountCursorParams{Cursor: cursor, Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}},
		)
		held = n == 1
		return classify("store the cursor of the account", err)
	})
	return held, err
}

// Find returns the workspace and the role of a user.
func (s channelStore) Find(ctx context.Context, account, user string) (ws tenancy.Workspace, role string, found bool,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.IdentityFind(ctx, dbsqlc.IdentityFindParams{Account: account, UserID: storable(user)})
		if isNoRows(err) {
			return nil
		}
		if found, role = err == nil, r.Role; r.State != "active" { // it is being erased
			role = service.RoleBlocked
		}
		ws = tenancy.Workspace{ID: r.WorkspaceID, Name: r.ExternalID, Key: r.Key}
		return classify("find the user", err)
	})
	return ws, role, found, err
}

// First reports whether an account has no administrator yet.
func (s channelStore) First(ctx context.Context, account string) (first bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		first, err = q.IdentityFirst(ctx, account)
		return classify("find the administrator of the account", err)
	})
	return first, err
}

// PutIdentity stores a new identity.
func (s channelStore) PutIdentity(ctx context.Context, ws int64, i service.Identity) (made bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.IdentityPut(ctx, dbsqlc.IdentityPutParams{Account: i.Account, UserID: storable(i.User),
			WorkspaceID: q.ws, Name: storable(i.Name), Role: i.Role})
		made = n == 1
		return classify("store the user", err)
	})
	return made, err
}

// SetRole changes what a user may do.
func (s channelStore) SetRole(ctx context.Context, ws int64, account, user, role string) (found bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.IdentityRole(ctx, dbsqlc.IdentityRoleParams{Role: role, WorkspaceID: q.ws, Account: account,
			UserID: storable(user)})
		found = n == 1
		return classify("store the role of the user", err)
	})
	return found, err
}

// Identities lists the users of all accounts.
func (s channelStore) Identities(ctx context.Context) (out []service.Identity, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.IdentitiesList(ctx)
		for _, r := range rows {
			out = append(out, service.Identity{Account: r.Account, User: r.UserID, Name: r.Name, Role: r.Role,
				Workspace: r.Workspace, CreatedAt: r.CreatedAt})
		}
		return classify("list the users", err)
	})
	return out, err
}

// PutPairing stores a code for a user.
func (s channelStore) PutPairing(ctx context.Context, p service.Pairing, most int) (tell bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		_, err := q.PairingPut(ctx, dbsqlc.PairingPutParams{Account: p.Account, UserID: storable(p.User),
			Name: storable(p.Name), Code: p.Code, Most: int32(most)})
		if isNoRows(err) {
			return nil
		}
		tell = err == nil
		return classify("store the pairing code", err)
	})
	return tell, err
}

// Pairings lists the codes that are valid.
func (s channelStore) Pairings(ctx context.Context) (out []service.Pairing, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.PairingsList(ctx)
		for _, r := range rows {
			out = append(out, service.Pairing{Account: r.Account, User: r.UserID, Name: r.Name, Code: r.Code,
				ExpiresAt: r.ExpiresAt})
		}
		return classify("list the pairing codes", err)
	})
	return out, err
}

// DeletePairing deletes the code of a user.
func (s channelStore) DeletePairing(ctx context.Context, account, user string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("delete the pairing code",
			q.PairingDelete(ctx, dbsqlc.PairingDeleteParams{Account: account, UserID: storable(user)}))
	})
}

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

// enqueueDelivery records the task that sends the deliveries of a route.
func (q Tx) enqueueDelivery(ctx context.Context, route int64) error {
	return q.Outbox().Enqueue(ctx, relay.Deliver, strconv.FormatInt(route, 10), 0)
}

// OpenRoute returns the account of a route, and whether a delivery of it is open.
func (s channelStore) OpenRoute(ctx context.Context, ws, route int64) (account string, open bool, err error) {
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
func (s channelStore) NextDelivery(ctx context.Context, ws, route int64) (id int64, wait time.Duration, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.DeliveryNext(ctx, dbsqlc.DeliveryNextParams{WorkspaceID: q.ws, RouteID: route})
		if isNoRows(err) {
			return nil
		}
		id, wait = r.ID, time.Duration(r.WaitSeconds*float64(time.Second))
		return classify("find the next delivery", err)
	})
	return id, wait, err
}

// Delivery returns a delivery.
func (s channelStore) Delivery(ctx context.Context, ws, id int64) (out service.Delivery, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.DeliveryGet(ctx, dbsqlc.DeliveryGetParams{WorkspaceID: q.ws, ID: id})
		if err != nil {
			return classify(fmt.Sprintf("read delivery %d", id), err)
		}
		out = service.Delivery{ID: r.ID, Route: r.RouteID, State: r.State,
			Place: channel.Place{Account: r.Account, Chat: r.Chat, Thread: r.Thread}}
		if err := json.Unmarshal(r.Body, &out.Body); err != nil {
			return fmt.Errorf("decode delivery %d: %w", id, err)
		}
		return nil
	})
	return out, err
}

// PutParts stores the messages of a delivery, once.
func (s channelStore) PutParts(ctx context.Context, ws, id int64, texts []string) error {
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
func (s channelStore) NextPart(ctx context.Context, ws, id int64) (out service.StoredPart, err error) {
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
func (s channelStore) EndPart(ctx context.Context, ws, id int64, number int, messageID string, sent bool) error {
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
func (s channelStore) EndDelivery(ctx context.Context, ws, id int64, state, reason string, pause bool) error {
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

// Deliveries lists deliveries, the latest first.
func (s channelStore) Deliveries(ctx context.Context, ws int64, state string, max int) (out []service.DeliveryView,
	err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.DeliveriesList(ctx,
			dbsqlc.DeliveriesListParams{WorkspaceID: q.ws, State: state, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, service.DeliveryView{ID: r.ID, Source: r.Source, State: r.State, Reason: r.Reason,
				Place:    channel.Place{Account: r.Account, Chat: r.Chat, Thread: r.Thread},
				Attempts: int(r.Attempts), CreatedAt: r.CreatedAt, EndedAt: r.EndedAt})
		}
		return classify("list the deliveries", err)
	})
	return out, err
}

// Reopen makes a dead delivery open again, or drops one.
func (s channelStore) Reopen(ctx context.Context, ws, id int64, drop bool) (found bool, err error) {
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

// DeliverReply makes the delivery of the reply of an ended turn, if its conversation belongs to a chat.
func (q turnRepository) DeliverReply(ctx context.Context, t agentrun.Turn) error {
	route, err := q.q.DeliveryOfTurn(ctx, dbsqlc.DeliveryOfTurnParams{WorkspaceID: q.ws, RunID: t.Run,
		Seq: int32(t.ReplySeq), ConversationID: t.Conversation})
	if isNoRows(err) {
		return nil
	}
	if err != nil {
		return classify("store the delivery of the reply", err)
	}
	return Tx(q).enqueueDelivery(ctx, route)
}
