package apikey_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// The three keys that are refused differ in nothing that a caller sees.
func TestUnknownRevokedAndExpiredKeysAreRefusedAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := time.Now().Add(time.Hour)
	expired, made, err := b.CreateUntil(t.Context(), b.db.A.ID, "robot", []access.Scope{access.Read}, &end)
	testkit.Must(t, err)
	if _, err := b.Principal(t.Context(), expired); err != nil || made.ExpiresAt == nil || !made.ExpiresAt.Equal(end) {
		t.Fatalf("before its end: %+v, %v", made, err)
	}
	b.db.Exec("update api_keys set expires_at = now() where id = $1", made.ID)
	revoked, gone := b.make("robot", access.Read)
	testkit.Must(t, b.Revoke(t.Context(), b.db.A.ID, gone.ID))
	var messages []string
	for _, key := range []string{expired, revoked, "cairn_" + strings.Repeat("A", 43), "sk-1234"} {
		_, err := b.elsewhere().Principal(t.Context(), key)
		wants(t, "a refused key", err, fault.NotFound)
		f := fault.From(err)
		messages = append(messages, f.Message+" / "+f.Hint)
	}
	if len(slices.Compact(messages)) != 1 {
		t.Errorf("messages differ: %q", messages)
	}
	if all := b.list(); all[0].ExpiresAt == nil || all[1].ExpiresAt != nil {
		t.Errorf("listed %+v", all)
	}
}

// A cached key stops when it expires, and not when the cache's time is over.
func TestACachedKeyStopsWhenItExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 { // a busy machine may notice the end too late to tell
		key, made := b.make("robot", access.Read)
		b.db.Exec("update api_keys set expires_at = now() + interval '200 ms' where id = $1", made.ID)
		looked := time.Now()
		if _, err := b.Principal(t.Context(), key); err != nil {
			continue // it has expired already
		}
		testkit.Eventually(t, "the key is refused", func() bool {
			_, err := b.Principal(t.Context(), key)
			return fault.CodeOf(err) == fault.NotFound
		})
		if time.Since(looked) < 3*time.Second {
			return
		}
	}
	t.Error("an expired key stays in the cache")
}

func TestAnEndInThePastIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	past := time.Now().Add(-time.Second)
	_, _, err := b.CreateUntil(t.Context(), b.db.A.ID, "robot", []access.Scope{access.Read}, &past)
	wants(t, "a past end", err, fault.InvalidArgument)
	_, made := b.make("robot", access.Read)
	_, _, err = b.Rotate(t.Context(), b.db.A.ID, made.ID, 0, &past)
	wants(t, "a past end of the new key", err, fault.InvalidArgument)
	for _, overlap := range []time.Duration{-1, 91 * 24 * time.Hour} {
		_, _, err = b.Rotate(t.Context(), b.db.A.ID, made.ID, overlap, nil)
		wants(t, overlap.String(), err, fault.InvalidArgument)
	}
	if all := b.list(); len(all) != 1 || all[0].ExpiresAt != nil {
		t.Errorf("listed %+v", all)
	}
}

func TestARotatedKeyWorksDuringTheOverlap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, made := b.make("robot", access.Write, access.Read)
	key, next, err := b.Rotate(t.Context(), b.db.A.ID, made.ID, time.Hour, nil)
	testkit.Must(t, err)
	if next.ID == made.ID || next.Name != "robot" || !slices.Equal(next.Scopes, made.Scopes) || next.ExpiresAt != nil ||
		!strings.HasPrefix(key, next.Hint) {
		t.Errorf("the new key is %+v", next)
	}
	for _, k := range []string{old, key} {
		_, err := b.elsewhere().Principal(t.Context(), k)
		testkit.Must(t, err)
	}
	if n := b.db.Number(`select count(*) from api_keys where id = $1 and expires_at between now() + interval '59 min'
and now() + interval '1 h'`, made.ID); n != 1 {
		t.Errorf("the old key expires at another time: %+v", b.list())
	}
	// An overlap of 0 ends the second key at once. A longer one does not extend the first.
	_, _, err = b.Rotate(t.Context(), b.db.A.ID, next.ID, 0, nil)
	testkit.Must(t, err)
	_, err = b.elsewhere().Principal(t.Context(), key)
	wants(t, "the key without overlap", err, fault.NotFound)
	_, _, err = b.Rotate(t.Context(), b.db.A.ID, made.ID, 24*time.Hour, nil)
	testkit.Must(t, err)
	if n := b.db.Number("select count(*) from api_keys where id = $1 and expires_at <= now() + interval '1 h'",
		made.ID); n != 1 {
		t.Error("the second rotation extends the old key")
	}
	before := len(b.list())
	testkit.Must(t, b.Revoke(t.Context(), b.db.A.ID, made.ID))
	for what, id := range map[string]int64{"an expired key": next.ID, "a revoked key": made.ID, "no key": 1 << 40} {
		_, _, err = b.Rotate(t.Context(), b.db.A.ID, id, 0, nil)
		wants(t, what, err, fault.NotFound)
	}
	_, _, err = b.Rotate(t.Context(), b.db.B.ID, made.ID, 0, nil)
	wants(t, "a key of another workspace", err, fault.NotFound)
	if after := len(b.list()); after != before {
		t.Errorf("%d keys, then %d", before, after)
	}
}

// Rotation keeps the policy of a key that expires, also if its overlap has cut its life.
func TestARotatedKeyLivesAsLongAsTheOldOneWasMadeFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := time.Now().Add(90 * 24 * time.Hour)
	_, made, err := b.CreateUntil(t.Context(), b.db.A.ID, "robot", []access.Scope{access.Read}, &end)
	testkit.Must(t, err)
	b.db.Exec(
		"update api_keys set created_at = created_at - interval '80 d', expires_at = expires_at - interval '80 d'",
	)
	for range 2 {
		_, next, err := b.Rotate(t.Context(), b.db.A.ID, made.ID, time.Hour, nil)
		testkit.Must(t, err)
		if next.ExpiresAt == nil || next.ExpiresAt.Before(end.Add(-time.Hour)) ||
			next.ExpiresAt.After(end.Add(time.Hour)) {
			t.Errorf("the new key expires at %v, want about %v", next.ExpiresAt, end)
		}
	}
	week := time.Now().Add(7 * 24 * time.Hour)
	_, next, err := b.Rotate(t.Context(), b.db.A.ID, made.ID, time.Hour, &week)
	testkit.Must(t, err)
	if next.ExpiresAt == nil || next.ExpiresAt.After(week) {
		t.Errorf("the new key expires at %v, want %v", next.ExpiresAt, week)
	}
}

// Uses are recorded in the background, at most every five minutes.
func TestTheLastUseOfAKeyIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.make("robot", access.Read)
	use := func() {
		t.Helper()
		other := b.elsewhere()
		_, err := other.Principal(t.Context(), key)
		testkit.Must(t, err)
		other.Close() // waits for the record
	}
	if all := b.list(); all[0].UsedAt != nil {
		t.Errorf("a new key was used at %v", all[0].UsedAt)
	}
	use()
	first := b.list()[0].UsedAt
	if first == nil {
		t.Fatal("no use is recorded")
	}
	b.db.Exec("update api_keys set last_used_at = now() - interval '4 min' where id = $1", made.ID)
	recent := b.list()[0].UsedAt
	use()
	if now := b.list()[0].UsedAt; !now.Equal(*recent) {
		t.Errorf("a use after 4 minutes is recorded: %v, then %v", recent, now)
	}
	b.db.Exec("update api_keys set last_used_at = now() - interval '5 min' where id = $1", made.ID)
	use()
	if now := b.list()[0].UsedAt; now.Before(*first) {
		t.Errorf("the use after 5 minutes is not recorded: %v", now)
	}
}
