package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/index"
	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// eventAfter is the time after which the relay handles an event that its process has not handled.
const eventAfter = 3 * time.Second

// PutEvent stores an event with its route, and the task that handles it.
func (s Channels) PutEvent(ctx context.Context, ws int64, e channel.Event) (route int64, err error) {
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
		if at.Resumed { // what waited is sent
			if err := q.enqueueDelivery(ctx, at.ID); err != nil {
				return err
			}
		}
		_, err = q.q.EventPut(ctx, dbsqlc.EventPutParams{WorkspaceID: q.ws, Account: e.Place.Account,
			Key: storable(e.Key), RouteID: at.ID, MessageID: storable(e.MessageID), Body: body, Files: e.Open()})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("store the event", err)
		}
		route = at.ID
		return q.Outbox().Enqueue(ctx, outbox.HandleEvents, strconv.FormatInt(at.ID, 10), eventAfter)
	})
	return route, err
}

// ClaimFiles lets this process read the files of the oldest events of an account for a time.
func (s Channels) ClaimFiles(ctx context.Context, account string, lease time.Duration, most int) (
	out []channel.EventRef, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.EventFilesClaim(ctx, dbsqlc.EventFilesClaimParams{Account: account, Lease: lease,
			MaxRows: int32(most)})
		for _, r := range rows {
			out = append(out, channel.EventRef{Workspace: r.WorkspaceID, ID: r.ID})
		}
		return classify("claim files of events", err)
	})
	return out, err
}

// EventFiles returns an event whose files are to be read, and its workspace.
func (s Channels) EventFiles(ctx context.Context, ref channel.EventRef) (ws access.Workspace, route int64,
	e channel.Event, found bool, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		r, err := q.q.EventFilesGet(ctx, dbsqlc.EventFilesGetParams{WorkspaceID: q.ws, ID: ref.ID})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("read an event with files", err)
		}
		if err := json.Unmarshal(r.Body, &e); err != nil {
			return fmt.Errorf("decode event %d: %w", ref.ID, err)
		}
		route, found = r.RouteID, true
		ws, err = q.Workspaces().Self(ctx)
		return err
	})
	return ws, route, e, found, err
}

// PutEventFiles stores what is known of the files of an event. When all is known, the event can be handled.
func (s Channels) PutEventFiles(ctx context.Context, ref channel.EventRef, route int64, e channel.Event,
	lease time.Duration) (stored bool, err error) {
	body, err := encode("the event", e)
	if err != nil {
		return false, err
	}
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		n, err := q.q.EventFilesPut(ctx, dbsqlc.EventFilesPutParams{Body: body, Open: e.Open(), Lease: lease,
			WorkspaceID: q.ws, ID: ref.ID})
		if err != nil || n == 0 {
			return classify("store the files of an event", err)
		}
		stored = true
		if err := q.putEventFiles(ctx, ref.ID, e); err != nil || e.Open() {
			return err
		}
		return q.Outbox().Enqueue(ctx, outbox.HandleEvents, strconv.FormatInt(route, 10), eventAfter)
	})
	return stored, err
}

// NextBurst returns the first events of a route that are not handled, as divide selects them. Without events, it
// removes the task: the lock keeps a new event from being stored in between.
func (s Channels) NextBurst(ctx context.Context, ws, route int64, divide channel.Divide) (out channel.Burst,
	err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		out = channel.Burst{Route: route}
		out.Conversation, err = q.q.RouteLock(ctx, dbsqlc.RouteLockParams{WorkspaceID: q.ws, ID: route})
		if err != nil && !isNoRows(err) { // no row: erased
			return classify("lock the route", err)
		}
		open, err := q.openEvents(ctx, route)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			return q.Outbox().Settle(ctx, outbox.HandleEvents, strconv.FormatInt(route, 10))
		}
		if out.Events, out.Wait = divide(open); len(out.Events) == 0 || out.Events[0].First != 0 {
			return nil
		}
		var ids []int64
		for _, e := range out.Events {
			ids = append(ids, e.ID)
		}
		return classify("select events", q.q.EventsJoin(ctx,
			dbsqlc.EventsJoinParams{FirstID: &ids[0], WorkspaceID: q.ws, Ids: ids}))
	})
	return out, err
}

// openEvents returns the first events of a route that are not handled.
func (q Tx) openEvents(ctx context.Context, route int64) (out []channel.StoredEvent, err error) {
	const most = 50
	rows, err := q.q.EventsOpen(ctx, dbsqlc.EventsOpenParams{WorkspaceID: q.ws, RouteID: route, MaxRows: most})
	if err != nil {
		return nil, classify("find the next events", err)
	}
	for _, r := range rows {
		e := channel.StoredEvent{ID: r.ID, FilesOpen: r.FilesOpen,
			Age: time.Duration(r.AgeSeconds * float64(time.Second))}
		if r.FirstID != nil {
			e.First = *r.FirstID
		}
		if err := json.Unmarshal(r.Body, &e.Event); err != nil {
			return nil, fmt.Errorf("decode event %d: %w", r.ID, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// EndBurst marks events as handled and stores what follows from them.
func (s Channels) EndBurst(ctx context.Context, ws int64, b channel.Burst, o channel.Outcome) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		var ids []int64
		for _, e := range b.Events {
			ids = append(ids, e.ID)
		}
		n, err := q.q.EventsHandled(ctx, dbsqlc.EventsHandledParams{WorkspaceID: q.ws, Ids: ids})
		if err != nil {
			return classify("end the events", err)
		}
		if len(n) == 0 { // by another process
			return nil
		}
		err = q.q.AttachmentsDrop(ctx, dbsqlc.AttachmentsDropParams{WorkspaceID: q.ws, Events: ids})
		if err != nil {
			return classify("remove the files of events", err)
		}
		for id, name := range o.Messages {
			err := q.q.EventSaid(ctx, dbsqlc.EventSaidParams{SaidAs: storable(name), WorkspaceID: q.ws, ID: id})
			if err != nil {
				return classify("store the ID of a message", err)
			}
		}
		if err := q.withdraw(ctx, b.Route, o.Withdraw); err != nil {
			return err
		}
		return q.followUp(ctx, b.Route, ids[0], o)
	})
}

// withdraw removes the texts of messages from their conversation and from searches.
func (q Tx) withdraw(ctx context.Context, route int64, messages []string) error {
	for _, id := range messages {
		rows, err := q.q.MessageWithdraw(ctx,
			dbsqlc.MessageWithdrawParams{WorkspaceID: q.ws, RouteID: route, MessageID: storable(id)})
		if err != nil {
			return classify("withdraw a message", err)
		}
		for _, r := range rows {
			if r.Seq == 0 { // the title is the start of the first message
				err := q.q.ConversationUntitle(ctx,
					dbsqlc.ConversationUntitleParams{WorkspaceID: q.ws, ID: r.ConversationID})
				if err != nil {
					return classify("remove the title of the conversation", err)
				}
			}
			conversation, seq := r.ConversationID, r.Seq
			err := q.q.AttachmentsWithdraw(ctx, dbsqlc.AttachmentsWithdrawParams{WorkspaceID: q.ws,
				ConversationID: &conversation, Seq: &seq})
			if err != nil {
				return classify("remove the files of a message", err)
			}
			_, err = q.Documents().IndexAll(ctx, []index.Doc{{Kind: index.KindTurn, Owner: r.ConversationID,
				Seq: int(r.Seq), Gone: true}})
			if err != nil {
				return fmt.Errorf("remove a message from searches: %w", err)
			}
		}
	}
	return nil
}

// followUp changes the route and stores the reply of a command.
func (q Tx) followUp(ctx context.Context, route, event int64, o channel.Outcome) error {
	if o.Renew {
		if err := q.q.RouteNext(ctx, dbsqlc.RouteNextParams{WorkspaceID: q.ws, ID: route}); err != nil {
			return classify("begin another conversation", err)
		}
	}
	if o.Home {
		if err := q.makeHome(ctx, route); err != nil {
			return err
		}
	}
	if o.Run != "" {
		key := fmt.Sprintf("%d/%s", route, o.Run)
		if err := q.Outbox().Enqueue(ctx, outbox.ReportRun, key, reportAfter); err != nil {
			return err
		}
	}
	if o.Reply == "" {
		return nil
	}
	return q.putDelivery(ctx, route, fmt.Sprintf("event/%d", event), channel.DeliveryBody{Text: o.Reply,
		Buttons: o.Buttons})
}

// reportAfter is the time after which the relay first looks whether a run has ended.
const reportAfter = 2 * time.Second

func (q Tx) makeHome(ctx context.Context, route int64) error {
	err := q.q.RouteLeaveHome(ctx, dbsqlc.RouteLeaveHomeParams{WorkspaceID: q.ws, ID: route})
	if err == nil {
		err = q.q.RouteHome(ctx, dbsqlc.RouteHomeParams{WorkspaceID: q.ws, ID: route})
	}
	return classify("store the home chat", err)
}
