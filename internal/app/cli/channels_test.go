package cli

import (
	"fmt"
	"testing"
	"time"

	domain "cairn/internal/domain/channel"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// chatting makes the user, the pairing code or the dead delivery that an example names.
func (w *world) chatting(t *testing.T, args []string) []string {
	t.Helper()
	accounts, err := w.App.ReadAccounts()
	testkit.Must(t, err)
	testkit.Must(t, w.App.Channels.Register(t.Context(), accounts))
	user := fmt.Sprintf("user-%d", time.Now().UnixNano())
	pair := func(user, code string) {
		p := domain.Pairing{Account: accounts[0].Name, User: user, Name: "Ada", Code: code}
		_, err := w.Store.Channels().PutPairing(t.Context(), p, 1000)
		testkit.Must(t, err)
	}
	switch args[1] {
	case "approve":
		pair(user, args[2])
	case "role":
		if args[2] == "--group" {
			ws, err := w.Store.Workspace(t.Context(), "group", true)
			testkit.Must(t, err)
			_, err = w.Store.Channels().PutIdentity(t.Context(), ws.ID, domain.Identity{Account: accounts[0].Name,
				Kind: channel.KindGroup, User: args[5], Role: channel.RoleUser})
			testkit.Must(t, err)
			return args
		}
		pair(args[3], "ABCDEFGH")
		w.succeeds(t, "", "people", "approve", "ABCDEFGH")
	case "retry", "drop":
		ws, err := w.Store.Workspace(t.Context(), "test", true)
		testkit.Must(t, err)
		args[2] = fmt.Sprint(w.dead(t, ws.ID, domain.Place{Account: accounts[0].Name, Chat: user}))
	}
	return args
}

// dead makes a delivery that was given up.
func (w *world) dead(t *testing.T, ws int64, place domain.Place) int64 {
	t.Helper()
	events, deliveries := w.Store.Channels(), w.Store.Channels()
	route, err := events.PutEvent(t.Context(), ws, domain.Event{Key: place.Chat, Kind: domain.Message, Place: place,
		Sender: domain.Sender{ID: place.Chat}, Text: "/help"})
	testkit.Must(t, err)
	all := func(open []domain.StoredEvent) ([]domain.StoredEvent, time.Duration) { return open, 0 }
	b, err := events.NextBurst(t.Context(), ws, route, all)
	testkit.Must(t, err)
	testkit.Must(t, events.EndBurst(t.Context(), ws, b, domain.Outcome{Reply: "Write to me."}))
	id, err := deliveries.NextDelivery(t.Context(), ws, route, false)
	testkit.Must(t, err)
	testkit.Must(t, deliveries.EndDelivery(t.Context(), ws, id, channel.DeliveryDead, "unreachable", false))
	return id
}

func TestChannelCommandsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	w := idle(t)
	for line, want := range map[string]int{"deliveries list --state what": 2, "deliveries retry x": 2,
		"deliveries retry 404": 3, "people role ada 404 admin": 3, "people role ada 404 king": 2,
		"people approve AAAAAAAA": 3, "people role --group -- ada -100 admin": 2,
		"people role --group -- ada -100 blocked": 3} {
		if code, out, errs := w.run("", words(line)...); code != want || out != "" {
			t.Errorf("%s: exit %d, want %d: %s%s", line, code, want, out, errs)
		}
	}
}
