package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
)

// Reading of missed messages.
const (
	pageSize = 100
	// overlap is how much earlier than the last stored message the reading begins: IDs of messages of the same
	// moment may arrive in another order. Stored messages are recognized by their keys.
	overlap = 5 * time.Second
)

// catchUp reads the messages of each known channel after its last stored one.
func (r *receiver) catchUp(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(r.Last)) {
		if err := r.readMissed(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (r *receiver) readMissed(ctx context.Context, id snowflake.ID) error {
	after := snowflake.New(r.Last[id].Time().Add(-overlap))
	for {
		var page []json.RawMessage
		err := r.read(ctx, rest.GetMessages.Compile(disgo.QueryValues{"after": after, "limit": pageSize}, id), &page)
		if isGone(err) {
			delete(r.Last, id)
			return nil
		}
		if err != nil {
			return err
		}
		messages := decodeAll(page)
		events, err := r.messageEvents(ctx, messages)
		if err != nil {
			return err
		}
		if err := r.store(ctx, events); err != nil {
			return err
		}
		if len(page) < pageSize || len(messages) == 0 {
			return nil
		}
		after = messages[len(messages)-1].ID
	}
}

// decodeAll decodes messages and sorts them by age. One that cannot be decoded is left out: an error would stop all
// later ones.
func decodeAll(page []json.RawMessage) (all []message) {
	for _, raw := range page {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			metrics.EventRejected("discord", metrics.Undecodable)
			continue
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b message) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (r *receiver) messageEvents(ctx context.Context, all []message) (events []channel.Event, err error) {
	for _, m := range all {
		e, ok, err := r.messageEvent(ctx, m)
		if err != nil {
			return nil, err
		}
		r.note(m.Channel, m.ID)
		if ok {
			events = append(events, e)
		}
	}
	return events, nil
}
