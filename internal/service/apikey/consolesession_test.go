package apikey_test

import (
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/apikey"
	"cairn/internal/testkit"
)

func consoleSessionSetup(t *testing.T) (*apikey.ConsoleSessions, *pgtest.Store, func(ws int64,
	scopes ...string) access.Principal) {
	t.Helper()
	db := pgtest.Open(t)
	s := apikey.NewConsoleSessions(apikey.ConsoleSessionsPorts{Store: db.ConsoleSessions()})
	keys := &apikey.Service{Ports: apikey.Ports{Store: db.Keys(), Operators: db.OperatorKeys()}}
	return s, db, func(ws int64, scopes ...string) access.Principal {
		t.Helper()
		var all []access.Scope
		for _, name := range scopes {
			all = append(all, access.Scope(name))
		}
		key, _, err := keys.Create(t.Context(), ws, "laptop", all)
		testkit.Must(t, err)
		h, err := keys.Principal(t.Context(), key)
		testkit.Must(t, err)
		return h
	}
}

func TestACookieCarriesItsGrantsToTheNext(t *testing.T) {
	t.Parallel()
	s, db, holder := consoleSessionSetup(t)
	first, err := s.SignIn(t.Context(), "", holder(db.A.ID, "read"))
	testkit.Must(t, err)
	db.Exec("update console_sessions set ends_at = now() + interval '1 hour'")
	second, err := s.SignIn(t.Context(), first, holder(db.B.ID, "write"))
	testkit.Must(t, err)
	if old, err := s.Grants(t.Context(), first); err != nil || len(old) != 0 {
		t.Errorf("the first cookie has %+v, %v", old, err)
	}
	both, err := s.Grants(t.Context(), second)
	testkit.Must(t, err)
	if len(both) != 2 || both[0].Workspace != db.A || both[1].Workspace != db.B || !both[1].Allows(access.Write) ||
		both[0].Allows(access.Write) {
		t.Fatalf("the second cookie has %+v", both)
	}
	if n := db.Number("select count(*) from console_sessions where ends_at < now() + interval '2 hours'"); n != 1 {
		t.Errorf("%d grants kept their end", n)
	}
	third, err := s.SignIn(t.Context(), second, holder(db.A.ID, "admin")) // replaces the grant of the workspace
	testkit.Must(t, err)
	both, err = s.Grants(t.Context(), third)
	if err != nil || len(both) != 2 || !both[0].Allows(access.Admin) {
		t.Errorf("the third cookie has %+v, %v", both, err)
	}
	testkit.Must(t, s.SignOut(t.Context(), third))
	testkit.Must(t, s.SignOut(t.Context(), third))
	if n := db.Number("select count(*) from console_sessions"); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	s, db, holder := consoleSessionSetup(t)
	cookie, err := s.SignIn(t.Context(), "", holder(db.A.ID, "read"))
	testkit.Must(t, err)
	list, err := s.List(t.Context(), db.A.ID)
	testkit.Must(t, err)
	if len(list) != 1 || list[0].Name != "laptop" || list[0].Key == 0 || len(list[0].Scopes) != 1 {
		t.Fatalf("listed %+v", list)
	}
	if other, err := s.List(t.Context(), db.B.ID); err != nil || len(other) != 0 {
		t.Errorf("in another workspace: %+v, %v", other, err)
	}
	if err := s.End(t.Context(), db.B.ID, list[0].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another workspace ends it: %v", err)
	}
	testkit.Must(t, s.End(t.Context(), db.A.ID, list[0].ID))
	if err := s.End(t.Context(), db.A.ID, list[0].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("ended twice: %v", err)
	}
	if left, err := s.Grants(t.Context(), cookie); err != nil || len(left) != 0 {
		t.Errorf("the cookie still has %+v, %v", left, err)
	}
}

func TestAUseIsRecordedOnceAMinute(t *testing.T) {
	t.Parallel()
	s, db, holder := consoleSessionSetup(t)
	cookie, err := s.SignIn(t.Context(), "", holder(db.A.ID, "read"))
	testkit.Must(t, err)
	db.Exec("update console_sessions set used_at = now() - interval '2 hours'")
	for i, idle := range []bool{true, false} {
		grants, err := s.Grants(t.Context(), cookie)
		testkit.Must(t, err)
		if grants[0].Idle != idle {
			t.Errorf("look %d: idle %t", i, grants[0].Idle)
		}
		testkit.Must(t, s.Use(t.Context(), grants[0]))
	}
}

func TestLinksAreRefused(t *testing.T) {
	t.Parallel()
	s, db, _ := consoleSessionSetup(t)
	for what, scopes := range map[string][]access.Scope{"no scope": nil, "an unknown one": {"root"},
		"that of an operator": {"codec"}} {
		if _, err := s.Link(t.Context(), db.A, "ada", scopes); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := s.Redeem(t.Context(), "", "nonsense"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown code: %v", err)
	}
	if _, err := s.SignIn(
		t.Context(),
		"",
		access.Principal{Account: "webui", Key: 7},
	); fault.CodeOf(
		err,
	) != fault.OutOfScope {
		t.Errorf("the key of a gateway: %v", err)
	}
}
