package devstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

var attributes = map[string]string{"CairnKind": "Keyword"}

// socketOf returns the folder of the socket in a connection string.
func socketOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("host")
}

func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func TestThrowAwayStackAnswersAndLeavesNothing(t *testing.T) {
	t.Parallel()
	stack := start(t, Options{SearchAttributes: attributes})
	execute(t, stack.DatabaseURL(), "CREATE EXTENSION vector")
	if !ask[bool](t, stack.DatabaseURL(), "SELECT '[1,2]'::halfvec(2) <=> '[1,2]' < 0.001") {
		t.Error("pgvector computes no distance")
	}
	if folded := ask[string](t, stack.DatabaseURL(),
		"SELECT to_tsvector('simple', 'ÉLAN ДОМ')::text"); folded != "'élan':1 'дом':2" {
		t.Errorf("full-text search does not fold letters: %s", folded)
	}
	temporal, version, err := dialTemporal(t.Context(),
		client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.TemporalNamespace(), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	if version == "" {
		t.Error("the Temporal server does not say its version")
	}
	if lacks, err := missingAttributes(t.Context(), temporal, stack.TemporalNamespace(), attributes); err != nil ||
		len(lacks) > 0 {
		t.Errorf("search attributes missing: %v %v", lacks, err)
	}
	if err := stack.RestartTemporal(t.Context(), true); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("restart of a Temporal server without a file: %v", err)
	}
	for _, part := range []string{"PostgreSQL", "pgvector", "Temporal"} {
		if !strings.Contains(fmt.Sprint(stack.Describe()), part+" ok") {
			t.Errorf("Describe does not list %s: %v", part, stack.Describe())
		}
	}

	socket, port := socketOf(t, stack.DatabaseURL()), portOf(stack.TemporalAddress())
	if err := stack.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(socket) {
		t.Errorf("%s is still there", socket)
	}
	if left := append(processes(t, socket), processes(t, "--port\x00"+port)...); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

func TestLastingStacksShareTheMachineAndKeepTheirPlaces(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	one, two := openFolder(t), settledFolder(t)
	first, second := start(t, Options{Dir: one}), start(t, Options{Dir: two})
	if first.TemporalAddress() == second.TemporalAddress() || first.DatabaseURL() == second.DatabaseURL() {
		t.Fatalf("both stacks at %s and %s", first.TemporalAddress(), first.DatabaseURL())
	}
	page, err := http.Get(second.TemporalUI())
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusOK {
		t.Errorf("the UI answers %s", page.Status)
	}
	if length := len(socketOf(t, second.DatabaseURL())); length > 80 {
		t.Errorf("the socket's folder has a path of %d bytes", length)
	}

	if _, err := Start(t.Context(), Options{Dir: two}); fault.CodeOf(err) != fault.AlreadyExists ||
		!strings.Contains(err.Error(), second.TemporalAddress()) {
		t.Errorf("a second stack on one folder: %v", err)
	}
	if found, ok := Running(two); !ok || found != second.addresses() {
		t.Errorf("Running gives %v %v, want %v", found, ok, second.addresses())
	}

	before := second.addresses()
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := Running(two); ok {
		t.Error("Running finds a closed stack")
	}
	const codec = "http://127.0.0.1:8080/codec"
	// also: attributes for a namespace that exists
	again := start(t, Options{Dir: two, SearchAttributes: attributes, Codec: codec})
	if again.addresses() != before {
		t.Errorf("the addresses were %v and are %v", before, again.addresses())
	}
	chosen, err := http.Get(again.TemporalUI() + "/api/v1/settings")
	if err != nil {
		t.Fatal(err)
	}
	defer chosen.Body.Close()
	var settings struct{ Codec struct{ Endpoint string } }
	if err := json.NewDecoder(chosen.Body).Decode(&settings); err != nil || settings.Codec.Endpoint != codec {
		t.Errorf("the UI decrypts at %q, %v", settings.Codec.Endpoint, err)
	}
}

func TestRestartKeepsWhatWasStored(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	folder := openFolder(t)
	stack := start(t, Options{Dir: folder})
	execute(t, stack.DatabaseURL(), "CREATE TABLE note AS SELECT 'kept' AS text")
	temporal, _, err := dialTemporal(t.Context(),
		client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.TemporalNamespace(), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	if _, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"},
		"Nothing"); err != nil {
		t.Fatal(err)
	}
	for _, hard := range []bool{true, false} {
		if err := stack.RestartPostgres(t.Context(), hard); err != nil {
			t.Fatalf("restart PostgreSQL, crash %v: %v", hard, err)
		}
		if text := ask[string](t, stack.DatabaseURL(), "SELECT text FROM note"); text != "kept" {
			t.Errorf("after a restart, crash %v: %q", hard, text)
		}
		if err := stack.RestartTemporal(t.Context(), hard); err != nil {
			t.Fatalf("restart Temporal, kill %v: %v", hard, err)
		}
		if _, err := temporal.DescribeWorkflow(t.Context(), "kept", ""); err != nil {
			t.Errorf("after a restart, kill %v: %v", hard, err)
		}
	}
	if !exists(filepath.Join(folder, "temporal", "temporal.db-wal")) {
		t.Error("Temporal's state has no write-ahead log: each transaction is written to the disk several times")
	}
}

func TestGivenDatabaseIsUsedAndLeftAlone(t *testing.T) {
	own := start(t, Options{SkipTemporal: true})
	t.Setenv("DATABASE_URL", own.DatabaseURL())
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	given, err := Start(t.Context(), Options{SkipTemporal: true})
	if err != nil {
		t.Fatal(err)
	}
	if given.DatabaseURL() != own.DatabaseURL() {
		t.Errorf("DATABASE_URL became %s", given.DatabaseURL())
	}
	if err := given.RestartPostgres(t.Context(), false); fault.CodeOf(err) != fault.NotManaged {
		t.Errorf("restart of an external server: %v", err)
	}
	if err := given.Close(); err != nil {
		t.Fatal(err)
	}
	if ask[int](t, own.DatabaseURL(), "SELECT 1") != 1 {
		t.Error("the given server does not answer any more")
	}
	if _, err := Start(t.Context(), Options{SkipPostgres: true}); fault.CodeOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "TEMPORAL_ADDRESS") {
		t.Errorf("a Temporal address without a server: %v", err)
	}
}

func TestClosedFolderOfRootMovesTheCluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root lends PostgreSQL another account")
	}
	usual := shelter
	shelter = filepath.Join(openFolder(t), "shelter")
	defer func() { shelter = usual }()
	closed := filepath.Join(t.TempDir(), "stack") // its parent is closed to others
	stack := start(t, Options{Dir: closed, SkipTemporal: true})
	if where := fmt.Sprint(stack.Describe()); !strings.Contains(where, shelter) {
		t.Errorf("Describe does not say where the data went: %s", where)
	}
	execute(t, stack.DatabaseURL(), "CREATE TABLE note ()")
	if err := stack.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, Options{Dir: closed, SkipTemporal: true})
	if ask[int](t, again.DatabaseURL(), "SELECT count(*) FROM note") != 0 {
		t.Error("the table of the first run holds something")
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
