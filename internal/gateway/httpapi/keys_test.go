package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	domainchannel "cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// createdKey is a response of POST /v1/keys.
type createdKey struct {
	ID        int64
	Key, Name string
	Scopes    []string
}

func TestKeysAreManagedOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var made createdKey
	b.post("/v1/keys", object{"name": "shop", "scopes": []string{"read"},
		"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}).into(http.StatusCreated, &made)
	if !slices.Equal(made.Scopes, []string{"read"}) || made.Name != "shop" {
		t.Fatalf("%+v", made)
	}
	b.do(request{path: "/v1/skills", key: made.Key}).into(http.StatusOK, nil)
	b.do(request{method: http.MethodPost, path: "/v1/keys", key: made.Key,
		body: `{"name":"more","scopes":["read"]}`}).refused(fault.OutOfScope)
	var listed struct{ Keys []struct{ ID int64 } }
	listing := b.get("/v1/keys")
	listing.into(http.StatusOK, &listed)
	if strings.Contains(string(listing.body), made.Key) || !slices.ContainsFunc(listed.Keys,
		func(k struct{ ID int64 }) bool { return k.ID == made.ID }) {
		t.Errorf("%s", listing.body)
	}
	for _, scopes := range [][]string{{"gateway"}, {"codec"}, {"everything"}, {}} {
		b.post("/v1/keys", object{"name": "x", "scopes": scopes}).refused(fault.InvalidArgument)
	}
	one := fmt.Sprintf("/v1/keys/%d", made.ID)
	if r := b.do(request{method: http.MethodDelete, path: one}); r.status != http.StatusNoContent {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	b.do(request{method: http.MethodDelete, path: one}).refused(fault.NotFound)
	time.Sleep(3 * time.Second) // the time for which a gateway remembers a key
	b.do(request{path: "/v1/skills", key: made.Key}).refused(fault.Unauthenticated)
}

// A key that expires makes no key that lives longer.
func TestAKeyMakesNoKeyThatOutlivesIt(t *testing.T) {
	t.Parallel()
	b := idle(t)
	type key struct {
		Key       string
		ExpiresAt time.Time `json:"expires_at"`
	}
	var parent, child key
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	b.post("/v1/keys", object{"name": "contractor", "scopes": []string{"admin"},
		"expires_at": end.Format(time.RFC3339)}).into(http.StatusCreated, &parent)
	b.do(request{method: http.MethodPost, path: "/v1/keys", key: parent.Key,
		body: `{"name":"forever","scopes":["admin"]}`}).into(http.StatusCreated, &child)
	if off := child.ExpiresAt.Sub(end).Abs(); off > time.Minute {
		t.Errorf("the new key expires at %s, its maker's at %s", child.ExpiresAt, end)
	}
	later := end.Add(time.Hour).Format(time.RFC3339)
	b.do(request{method: http.MethodPost, path: "/v1/keys", key: parent.Key,
		body: `{"name":"later","scopes":["admin"],"expires_at":"` + later + `"}`}).refused(fault.OutOfScope)
}

// The key of a gateway acts for users of its account, each in a workspace of its own, and reaches nothing else.
func TestTheKeyOfAGatewayActsForItsUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "open-webui", "webui", nil)
	testkit.Must(t, err)
	as := func(user string) request {
		return request{key: key, header: map[string]string{"X-Cairn-Person": user}}
	}
	remember := as("ada")
	remember.method, remember.path, remember.body = http.MethodPost, "/v1/memories",
		`{"store":"profile","content":"Ada sails."}`
	if r := b.do(remember); r.status >= http.StatusMultipleChoices {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for user, want := range map[string]bool{"ada": true, "ben": false} {
		look := as(user)
		look.path = "/v1/memories"
		if r := b.do(look); strings.Contains(string(r.body), "Ada sails") != want || r.status != http.StatusOK {
			t.Errorf("%s reads %d %s", user, r.status, r.body)
		}
	}
	webui := request{path: "/v1/memories", key: key, header: map[string]string{"X-OpenWebUI-User-Id": "ada"}}
	if r := b.do(webui); !strings.Contains(string(r.body), "Ada sails") {
		t.Errorf("%d %s", r.status, r.body)
	}
	b.do(request{path: "/v1/memories", key: key}).refused(fault.PersonRequired)
	settings := as("ada")
	settings.path = "/v1/keys"
	b.do(settings).refused(fault.OutOfScope)
	long := as(strings.Repeat("x", 500))
	long.path = "/v1/skills"
	b.do(long).refused(fault.InvalidArgument)
	testkit.Must(t, b.App.Channels.SetRole(t.Context(), "webui", channel.KindUser, "ben", domainchannel.RoleBlocked))
	other, _, err := b.App.Keys.CreateGateway(t.Context(), "another", "other", nil)
	testkit.Must(t, err)
	foreign := request{path: "/v1/memories", key: other, header: map[string]string{"X-Cairn-Person": "ada"}}
	if r := b.do(foreign); strings.Contains(string(r.body), "Ada sails") {
		t.Errorf("a gateway reads a user of another account: %s", r.body)
	}
	time.Sleep(3 * time.Second) // the time for which a gateway remembers a key
	blocked := as("ben")
	blocked.path = "/v1/skills"
	b.do(blocked).refused(fault.OutOfScope)
}

// A chat names its user in the body, as clients of OpenAI do.
func TestAChatOfAGatewayNamesItsUserInTheBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hi."})
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "librechat", "libre", nil)
	testkit.Must(t, err)
	send := func(body string) response {
		return b.do(request{method: http.MethodPost, path: "/v1/chat/completions", key: key, body: body})
	}
	chat := `{"model":"cairn","messages":[{"role":"user","content":"Hello"}]%s}`
	send(fmt.Sprintf(chat, `,"user":"ada"`)).into(http.StatusOK, nil)
	send(fmt.Sprintf(chat, `,"safety_identifier":"ben"`)).into(http.StatusOK, nil)
	if r := send(fmt.Sprintf(chat, "")); r.status != http.StatusBadRequest ||
		!strings.Contains(string(r.body), "person_required") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := b.do(request{path: "/v1/models", key: key}); r.status != http.StatusOK {
		t.Errorf("models: %d %s", r.status, r.body)
	}
	var n int
	testkit.Must(t, b.connect().QueryRow(t.Context(),
		"select count(*) from cairn.workspaces where external_id like 'person/libre/%'").Scan(&n))
	if n != 2 {
		t.Errorf("%d workspaces", n)
	}
}

func TestAGatewayApprovesCodesOfItsAccount(t *testing.T) {
	t.Parallel()
	b := idle(t)
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "desk", "desk", nil)
	testkit.Must(t, err)
	_, _, err = b.App.Keys.CreateGateway(t.Context(), "other", "other", nil)
	testkit.Must(t, err)
	for account, code := range map[string]string{"desk": "AAAABBBB", "other": "CCCCDDDD"} {
		_, err = b.Store.Channels().PutPairing(t.Context(), domainchannel.Pairing{Account: account, User: "7",
			Name: "Ada",
			Code: code}, 3)
		testkit.Must(t, err)
	}
	approve := func(key, code string) response {
		return b.do(request{method: http.MethodPost, path: "/v1/people/approve", key: key,
			body: fmt.Sprintf(`{"code":%q}`, code)})
	}
	approve(b.makeKey(b.Workspace, access.Admin), "AAAABBBB").refused(fault.OutOfScope)
	approve(key, "CCCCDDDD").refused(fault.NotFound)
	var got struct{ Account, User, Workspace, Role string }
	approve(key, "aaaabbbb").into(http.StatusOK, &got)
	if got.Account != "desk" || got.User != "7" || got.Workspace != "person/desk/7" || got.Role != channel.RoleAdmin {
		t.Errorf("%+v", got)
	}
}

// Invalid keys at the address of a gateway do not lock its key out.
func TestInvalidKeysDoNotLockAGatewayOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "open-webui", "webui", nil)
	testkit.Must(t, err)
	ask := request{path: "/v1/skills", key: key, header: map[string]string{"X-Cairn-Person": "ada"}}
	b.do(ask).into(http.StatusOK, nil)
	for range 20 {
		b.do(request{path: "/v1/skills", key: "cairn_" + strings.Repeat("x", 43)}).refused(fault.Unauthenticated)
	}
	b.do(request{path: "/v1/skills", key: "cairn_" + strings.Repeat("x", 43)}).refused(fault.RateLimited)
	b.do(ask).into(http.StatusOK, nil)
	ask.header = map[string]string{"X-Cairn-Person": "ben"}
	b.do(ask).into(http.StatusOK, nil)
}

// A slash in the name of an account would make the user b/ada of the account a and the user ada of a/b share a
// workspace.
func TestAccountsOfGatewaysHaveSimpleNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, account := range []string{"", "a/b", "Webui", "a b", strings.Repeat("a", 41)} {
		_, _, err := b.App.Keys.CreateGateway(t.Context(), "gateway", account, nil)
		if fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", account, err)
		}
	}
}
