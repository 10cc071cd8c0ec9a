package apikey_test

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/apikey"
	"cairn/internal/testkit"
)

// bundle is the service over a fresh database.
type bundle struct {
	*apikey.Service
	db *pgtest.Store
	t  *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := pgtest.Open(t)
	return &bundle{
		Service: &apikey.Service{Ports: apikey.Ports{Store: db.Keys(), Operators: db.OperatorKeys()}},
		db:      db,
		t:       t,
	}
}

// make makes a key of workspace A.
func (b *bundle) make(name string, scopes ...access.Scope) (string, access.Key) {
	b.t.Helper()
	key, made, err := b.Create(b.t.Context(), b.db.A.ID, name, scopes)
	testkit.Must(b.t, err)
	return key, made
}

// elsewhere is the service in another program, which remembers no key.
func (b *bundle) elsewhere() *apikey.Service {
	return &apikey.Service{Ports: apikey.Ports{Store: b.db.Keys(), Operators: b.db.OperatorKeys()}}
}

func (b *bundle) list() []access.Key {
	b.t.Helper()
	out, err := b.List(b.t.Context(), b.db.A.ID)
	testkit.Must(b.t, err)
	return out
}

// wants compares an error's code, and wants a hint with it.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Code != code || f.Hint == "" {
		t.Errorf("%s: %v, want %s with a hint", what, err, code)
	}
}

func TestAKeySpeaksForItsWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.make(" the shop ", access.Write, access.Read, access.Write)
	if made.ID == 0 || made.Name != "the shop" || made.CreatedAt.IsZero() || made.RevokedAt != nil ||
		!slices.Equal(made.Scopes, []string{"write", "read"}) ||
		len(made.Hint) > 12 || !strings.HasPrefix(key, made.Hint) {
		t.Errorf("made %+v", made)
	}
	for range 2 {
		who, err := b.Principal(t.Context(), key)
		testkit.Must(t, err)
		if who.Workspace != b.db.A || who.Key != made.ID || !slices.Equal(who.Scopes, made.Scopes) {
			t.Errorf("the key speaks for %+v", who)
		}
	}
}

func TestKeysOfOneNameAreDifferentKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, first := b.make("robot", access.Read)
	two, second := b.make("robot", access.Read)
	if one == two || first.ID == second.ID {
		t.Errorf("%+v and %+v", first, second)
	}
	if all := b.list(); len(all) != 2 || all[0].ID != first.ID || all[1].ID != second.ID {
		t.Errorf("listed %+v", all)
	}
}

func TestAListOfKeysShowsNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _ := b.make("robot", access.Read)
	raw, err := json.Marshal(b.list())
	testkit.Must(t, err)
	if strings.Contains(string(raw), key[12:]) {
		t.Errorf("the list gives the key away: %s", raw)
	}
	sum := sha256.Sum256([]byte(key))
	if n := b.db.Number("select count(*) from api_keys where hash = $1", sum[:]); n != 1 {
		t.Errorf("%d rows have the key's hash", n)
	}
	if n := b.db.Number("select count(*) from api_keys k where k::text like '%' || $1 || '%'", key[12:]); n != 0 {
		t.Error("the key itself is stored")
	}
}

func TestKeysThatCannotBeMadeAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read := []access.Scope{access.Read}
	for what, c := range map[string]struct {
		name   string
		scopes []access.Scope
	}{
		"no name":                {"", read},
		"a blank name":           {" \n\t", read},
		"a long name":            {strings.Repeat("é", 101), read},
		"no scope":               {"robot", nil},
		"an unknown scope":       {"robot", []access.Scope{"root"}},
		"a scope in capitals":    {"robot", []access.Scope{"READ"}},
		"one unknown among good": {"robot", []access.Scope{access.Admin, "everything"}},
	} {
		key, _, err := b.Create(t.Context(), b.db.A.ID, c.name, c.scopes)
		if wants(t, what, err, fault.InvalidArgument); key != "" {
			t.Errorf("%s: there is a key all the same", what)
		}
	}
	if rows := b.db.Rows("api_keys"); rows != "api_keys 0" {
		t.Errorf("stored: %s", rows)
	}
	b.make(strings.Repeat("é", 100), access.Read)
}

func TestARevokedKeyIsNoGoodElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.make("robot", access.Read)
	other, _ := b.make("another", access.Read)
	wants(t, "revoked from another workspace", b.Revoke(t.Context(), b.db.B.ID, made.ID), fault.NotFound)
	_, err := b.elsewhere().Principal(t.Context(), key)
	testkit.Must(t, err)
	testkit.Must(t, b.Revoke(t.Context(), b.db.A.ID, made.ID))
	_, err = b.elsewhere().Principal(t.Context(), key)
	wants(t, "a revoked key", err, fault.NotFound)
	_, err = b.elsewhere().Principal(t.Context(), other)
	testkit.Must(t, err)
	if all := b.list(); len(all) != 2 || all[0].RevokedAt == nil || all[1].RevokedAt != nil {
		t.Errorf("listed %+v", all)
	}
	wants(t, "revoked again", b.Revoke(t.Context(), b.db.A.ID, made.ID), fault.NotFound)
	wants(t, "a key that never was", b.Revoke(t.Context(), b.db.A.ID, made.ID+1000), fault.NotFound)
}

func TestKeysOfAnotherWorkspaceAreNotListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.make("robot", access.Read)
	if all, err := b.List(t.Context(), b.db.B.ID); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestWhatIsNoKeySpeaksForNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _ := b.make("robot", access.Admin)
	last := "A"
	if strings.HasSuffix(key, last) {
		last = "B"
	}
	for what, text := range map[string]string{"nothing": "", "another program's": "sk-1234", "the prefix": "cairn_",
		"a shorter one": key[:len(key)-1], "a longer one": key + "A", "one in capitals": strings.ToUpper(key),
		"one that was never made": "cairn_" + strings.Repeat("A", len(key)-len("cairn_")),
		"one with another end":    key[:len(key)-1] + last} {
		who, err := b.Principal(t.Context(), text)
		if wants(t, what, err, fault.NotFound); who.Key != 0 || len(who.Scopes) != 0 {
			t.Errorf("%s: %+v", what, who)
		}
	}
}

func TestManyMayAskForAKeyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.make("robot", access.Read)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if who, err := b.Principal(t.Context(), key); err != nil || who.Key != made.ID {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	all.Wait()
}

// A key is not looked up at each request, so it works for three seconds more after another process has revoked it.
func TestARevokedKeyIsForgottenAfterSeconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.make("robot", access.Read)
	looked := time.Now()
	_, err := b.Principal(t.Context(), key)
	testkit.Must(t, err)
	b.db.Exec("update api_keys set revoked_at = now() where id = $1", made.ID)
	if _, err := b.Principal(t.Context(), key); err != nil && time.Since(looked) < 3*time.Second {
		t.Errorf("the key is not cached: %v", err)
	}
	testkit.Eventually(t, "the key is refused", func() bool {
		_, err = b.Principal(t.Context(), key)
		return err != nil
	})
	wants(t, "a revoked key", err, fault.NotFound)
	if after := time.Since(looked); after > 15*time.Second { // a busy machine may need more than three
		t.Errorf("the key works for %s", after)
	}
}

// An unknown key is looked up each time, because it may be created.
func TestAKeyWorksAtOnceAfterItWasRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := "cairn_" + strings.Repeat("k", 43)
	for range 2 {
		_, err := b.Principal(t.Context(), key)
		wants(t, "an unknown key", err, fault.NotFound)
	}
	made, err := b.db.Keys().PutKey(t.Context(), b.db.A.ID, access.Key{Name: "robot", Scopes: []string{"read"}},
		sha256.Sum256([]byte(key)))
	testkit.Must(t, err)
	if who, err := b.Principal(t.Context(), key); err != nil || who.Key != made.ID {
		t.Errorf("%+v, %v", who, err)
	}
}

func TestAScopeAllowsWhatItStandsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes             []string
		read, write, admin bool
	}{
		{nil, false, false, false},
		{[]string{"read"}, true, false, false},
		{[]string{"write"}, true, true, false},
		{[]string{"admin"}, true, true, true},
		{[]string{"read", "admin"}, true, true, true},
		{[]string{"everything"}, false, false, false},
	} {
		got := [3]bool{access.Read.Allows(c.scopes), access.Write.Allows(c.scopes), access.Admin.Allows(c.scopes)}
		if want := [3]bool{c.read, c.write, c.admin}; got != want {
			t.Errorf("%v allows %v, want %v", c.scopes, got, want)
		}
	}
}
