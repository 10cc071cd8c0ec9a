package store_test

import (
	"testing"

	"cairn/internal/domain/channel"
	"cairn/internal/testkit"
)

// What waited while a route was paused is sent after the next message of its place.
func TestAMessageResumesItsRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.exec("update channel_routes set paused = 'blocked'; delete from outbox")
	var account, chat string
	testkit.Must(t, b.admin.QueryRow(t.Context(), "select account, chat from cairn.channel_routes").
		Scan(&account, &chat))
	e := channel.Event{Key: "later", Kind: channel.Message, Text: "Hello",
		Place: channel.Place{Account: account, Chat: chat}}
	_, err := b.Channels().PutEvent(t.Context(), b.a.ID, e)
	testkit.Must(t, err)
	if n := b.number("select count(*) from outbox where kind = 'deliver'"); n != 1 {
		t.Errorf("%d tasks deliver what waited", n)
	}
	b.exec("delete from outbox")
	e.Key = "last"
	_, err = b.Channels().PutEvent(t.Context(), b.a.ID, e)
	testkit.Must(t, err)
	if n := b.number("select count(*) from outbox where kind = 'deliver'"); n != 0 {
		t.Errorf("%d tasks to deliver for a route that was not paused", n)
	}
}

// Events and deliveries are kept for 90 days after they are handled and sent. Open and dead ones stay.
func TestHandledEventsExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	old := "now() - interval '91 days'"
	b.exec("update channel_events set received_at = " + old)
	b.exec("update deliveries set created_at = " + old)
	b.exec("insert into pairings (account, user_id, name, code, purpose, expires_at) select name, 'x', 'x', 'CODE', " +
		"'link', " + old + " from channel_accounts")
	left := func() [4]int {
		return [4]int{b.number("select count(*) from channel_events"), b.number("select count(*) from deliveries"),
			b.number("select count(*) from delivery_parts"), b.number("select count(*) from pairings")}
	}
	_, err := b.Purge(t.Context())
	testkit.Must(t, err)
	if got := left(); got != [4]int{1, 1, 1, 0} {
		t.Errorf("of open ones are left %v", got)
	}
	b.exec("update channel_events set state = 'handled', body = '{}'")
	b.exec("update deliveries set state = 'sent', body = '{}', ended_at = now() - interval '89 days'")
	_, err = b.Purge(t.Context())
	testkit.Must(t, err)
	if got := left(); got != [4]int{0, 1, 1, 0} {
		t.Errorf("after 89 days are left %v", got)
	}
	b.exec("update deliveries set ended_at = " + old)
	_, err = b.Purge(t.Context())
	testkit.Must(t, err)
	if got := left(); got != [4]int{} {
		t.Errorf("after 91 days are left %v", got)
	}
}

// The code of /link is for the first user who sends it, who may repeat it.
func TestACodeLinksOneUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	var account string
	testkit.Must(t, b.admin.QueryRow(t.Context(), "select name from cairn.channel_accounts").Scan(&account))
	people := b.Channels()
	claim := func(by string, want bool) {
		t.Helper()
		_, user, found, err := people.ClaimLink(t.Context(), "ABCDEFGH", by)
		if err != nil || found != want || found && user != "u" {
			t.Errorf("%s gets %q, %t, %v", by, user, found, err)
		}
	}
	for range 2 { // a new code can be used again
		testkit.Must(t, people.PutLink(t.Context(),
			channel.Pairing{Account: account, User: "u", Name: "Ada", Code: "ABCDEFGH"}))
		claim("desk/ada", true)
		claim("desk/ada", true)
		claim("desk/eve", false)
	}
}
