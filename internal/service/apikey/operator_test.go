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

func TestAnOperatorKeyBelongsToNoWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made, err := b.CreateOperator(t.Context(), " support ", []access.Scope{access.Support, access.Codec}, nil)
	testkit.Must(t, err)
	if made.ID == 0 || made.Name != "support" || !strings.HasPrefix(key, made.Hint) || len(made.Hint) > 15 {
		t.Errorf("made %+v", made)
	}
	for range 2 {
		who, err := b.Operator(t.Context(), key)
		testkit.Must(t, err)
		if who.Key != made.ID || !who.Allows(access.Support) || !who.Allows(access.Codec) ||
			who.Allows(access.Metrics) ||
			who.Allows(access.Admin) {
			t.Errorf("the key is of %+v", who)
		}
	}
	_, err = b.Principal(t.Context(), key)
	wants(t, "an operator key as the key of a workspace", err, fault.NotFound)
	admin, _ := b.make("admin", access.Admin)
	_, err = b.Operator(t.Context(), admin)
	wants(t, "an admin key as the key of an operator", err, fault.NotFound)
	if all := b.list(); len(all) != 1 {
		t.Errorf("the workspace lists %+v", all)
	}
	if n := b.db.Number("select count(*) from operator_keys k where k::text like '%' || $1 || '%'", key[16:]); n != 0 {
		t.Error("the key itself is stored")
	}
}

func TestOperatorKeysAreRevokedAndExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := time.Now().Add(time.Hour)
	revoked, first, err := b.CreateOperator(t.Context(), "one", []access.Scope{access.Codec}, &end)
	testkit.Must(t, err)
	expired, second, err := b.CreateOperator(t.Context(), "two", []access.Scope{access.Codec}, &end)
	testkit.Must(t, err)
	other := b.elsewhere()
	_, err = other.Operator(t.Context(), expired)
	testkit.Must(t, err)
	other.Close()
	testkit.Must(t, b.RevokeOperator(t.Context(), first.ID))
	b.db.Exec("update operator_keys set expires_at = now() where id = $1", second.ID)
	for what, key := range map[string]string{"revoked": revoked, "expired": expired,
		"unknown": "cairn_op_" + strings.Repeat("A", 43)} {
		_, err := b.elsewhere().Operator(t.Context(), key)
		wants(t, what, err, fault.NotFound)
	}
	wants(t, "revoked again", b.RevokeOperator(t.Context(), first.ID), fault.NotFound)
	all, err := b.ListOperators(t.Context())
	testkit.Must(t, err)
	if len(all) != 2 || all[0].RevokedAt == nil || all[0].UsedAt != nil || all[1].UsedAt == nil ||
		all[1].ExpiresAt == nil || !slices.Equal(all[1].Scopes, []string{"codec"}) {
		t.Errorf("listed %+v", all)
	}
}

func TestScopesOfOperatorsAndWorkspacesDoNotMix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, scopes := range [][]access.Scope{nil, {access.Admin}, {access.Read}, {access.Codec, access.Write}} {
		_, _, err := b.CreateOperator(t.Context(), "x", scopes, nil)
		wants(t, "an operator with scopes of workspaces", err, fault.InvalidArgument)
	}
	for _, scope := range []access.Scope{access.Codec, access.Metrics, access.Support} {
		_, _, err := b.Create(t.Context(), b.db.A.ID, "x", []access.Scope{scope})
		wants(t, "a workspace's key with the scope "+string(scope), err, fault.InvalidArgument)
	}
	if n := b.db.Number("select (select count(*) from operator_keys) + (select count(*) from api_keys)"); n != 0 {
		t.Errorf("%d keys are stored", n)
	}
}
