package devstack

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/testkit"
)

// A replica follows a server and replaces it after a crash. A pooler that is pointed at it uses it.
func TestAReplicaReplacesACrashedServer(t *testing.T) {
	testkit.Long(t)
	folder := openFolder(t)
	serve := func(name string, copied *PostgresServer) *PostgresServer {
		t.Helper()
		s, err := StartServer(t.Context(), ServerOptions{Folder: filepath.Join(folder, name), Copy: copied,
			Settings: []string{"fsync=off"}})
		testkit.Must(t, err)
		t.Cleanup(func() { testkit.Must(t, s.Close()) })
		return s
	}
	first := serve("a", nil)
	testkit.Must(t, first.Execute(t.Context(), "postgres", "create table kept (x int)",
		"insert into kept values (1)"))
	second := serve("b", first)
	pooler, err := StartPooler(t.Context(), PoolerOptions{Folder: filepath.Join(folder, "pooler"),
		Server: first.Address(), Logins: map[string]string{"postgres": ""}, Size: 2,
		Settings: []string{"server_login_retry = 1"}, Log: t.Output()})
	testkit.Must(t, err)
	t.Cleanup(pooler.Close)
	const pooled = "&default_query_exec_mode=simple_protocol"
	if n := ask[int](t, pooler.URL("postgres", "postgres")+pooled, "select count(*)::int from kept"); n != 1 {
		t.Errorf("%d rows through the pooler", n)
	}
	testkit.Must(t, first.Execute(t.Context(), "postgres", "insert into kept values (2)"))
	until(t, patience, "the replica has both rows", func() bool {
		return ask[int](t, second.URL("postgres", "postgres"), "select count(*)::int from kept") == 2
	})
	testkit.Must(t, first.Stop(t.Context(), true))
	testkit.Must(t, second.Promote(t.Context()))
	testkit.Must(t, pooler.Point(second.Address()))
	until(t, patience, "the pooler uses the new primary", func() bool {
		return second.Execute(t.Context(), "postgres", "select 1") == nil &&
			reaches(t, pooler.URL("postgres", "postgres")+pooled)
	})
	testkit.Must(t, second.Stop(t.Context(), false))
	testkit.Must(t, second.Start(t.Context()))
	if n := ask[int](t, second.URL("postgres", "postgres"), "select count(*)::int from kept"); n != 2 {
		t.Errorf("%d rows after a restart", n)
	}
}

// A stopped Temporal server does not answer, and starts again at its address.
func TestTemporalIsAwayUntilItIsRestarted(t *testing.T) {
	testkit.Long(t)
	stack := start(t, Options{Dir: settledFolder(t), SkipPostgres: true})
	address := stack.TemporalAddress()
	testkit.Must(t, stack.StopTemporal(t.Context()))
	if answersAt(address) {
		t.Error("the server answers after it was stopped")
	}
	testkit.Must(t, stack.RestartTemporal(t.Context(), true))
	if stack.TemporalAddress() != address || !answersAt(address) {
		t.Errorf("the server is at %s, and was at %s", stack.TemporalAddress(), address)
	}
	if err := start(t, Options{SkipPostgres: true}).StopTemporal(t.Context()); err == nil {
		t.Error("a server with its state in memory can be stopped")
	}
}

func answersAt(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}

func reaches(t *testing.T, url string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return false
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "insert into kept values (3); delete from kept where x = 3")
	return err == nil
}
