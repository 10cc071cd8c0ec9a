package store_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// requirePassword makes the server, which trusts local logins, ask members of a role for a password.
func (b *bundle) requirePassword(group string) {
	b.t.Helper()
	ctx := context.Background() // also at the end of the test
	conn, err := pgx.Connect(ctx, b.url)
	testkit.Must(b.t, err)
	exec := func(sql string, args ...any) {
		_, err := conn.Exec(ctx, sql, args...)
		testkit.Must(b.t, err)
	}
	rules := func() (file, text string) {
		testkit.Must(b.t, conn.QueryRow(ctx, "select current_setting('hba_file'), "+
			"pg_read_file(current_setting('hba_file'))").Scan(&file, &text))
		return file, text
	}
	write := func(text string) {
		file, _ := rules()
		exec("create temp table rules (line text)")
		for line := range strings.Lines(text) {
			exec("insert into rules values ($1)", strings.TrimSuffix(line, "\n"))
		}
		exec("copy rules to '" + file + "'")
		exec("drop table rules")
		exec("select pg_reload_conf()")
	}
	_, before := rules()
	rule := "local all +" + group + " scram-sha-256\nhost all +" + group + " all scram-sha-256\n"
	write(rule + before)
	b.t.Cleanup(func() {
		_, now := rules()
		write(strings.Replace(now, rule, "", 1))
		conn.Close(ctx)
	})
}

// A password is changed in Postgres and in the file, in this order, while a process runs.
func TestAPasswordIsChangedWithoutARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	group, name := roleName(), roleName()
	b.role(group, "")
	address := b.login(name, "cairn_app", "cairn_system", group)
	b.requirePassword(group)
	file := filepath.Join(t.TempDir(), "url")
	put := func(password string) {
		t.Helper()
		u, err := url.Parse(address)
		testkit.Must(t, err)
		u.User = url.UserPassword(name, password)
		testkit.Must(t, os.WriteFile(file, []byte(u.String()), 0o600))
	}
	reads := 0
	read := func() (string, error) {
		reads++
		raw, err := os.ReadFile(file)
		return string(raw), err
	}
	put("test")
	testkit.Eventually(t, "the server to ask for passwords", func() bool {
		conn, err := pgx.Connect(t.Context(), strings.Replace(address, ":test@", ":wrong@", 1))
		if err == nil {
			conn.Close(t.Context())
		}
		return err != nil && strings.Contains(err.Error(), "28P01")
	})
	s, err := store.Open(t.Context(), address, store.Options{MaxConns: 2, RereadURL: read})
	testkit.Must(t, err)
	defer s.Close()
	work := func() error {
		if err := s.InWorkspace(
			t.Context(),
			b.a.ID,
			func(context.Context, store.Tx) error { return nil },
		); err != nil {
			return err
		}
		_, err := s.Workspace(t.Context(), "a", false)
		return err
	}
	testkit.Must(t, work())
	if reads != 0 {
		t.Errorf("the file was read %d times although the password works", reads)
	}
	// disconnect ends all connections, so that the next statement connects again.
	disconnect := func() {
		b.exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", name)
		testkit.Eventually(t, "the connections to end", func() bool {
			return b.number("select count(*)::int from pg_stat_activity where usename = $1", name) == 0
		})
	}
	// settled runs work until the pool has noticed that its connections are gone.
	settled := func() (err error) {
		for range 10 {
			if err = work(); err == nil || strings.Contains(err.Error(), "28P01") {
				return err
			}
		}
		return err
	}
	b.exec("alter role " + name + " password 'second'")
	put("second")
	disconnect()
	if err := settled(); err != nil {
		t.Fatalf("after both were changed: %v", err)
	}
	if reads == 0 {
		t.Error("the file was not read")
	}

	b.exec("alter role " + name + " password 'third'")
	disconnect()
	f := fault.From(settled())
	if f == nil || f.Code != fault.Unavailable || !strings.Contains(f.Hint, "no restart is needed") ||
		strings.Contains(f.Error(), "second") {
		t.Errorf("before the file is changed: %+v", f)
	}
	put("third")
	if err := work(); err != nil {
		t.Errorf("after the file is changed: %v", err)
	}
	testkit.Must(t, s.Ping(t.Context()))
	_, err = store.Open(t.Context(), address, store.Options{})
	if fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("a start with the first password: %v", err)
	}
	again, err := store.Open(t.Context(), address, store.Options{RereadURL: read})
	if err != nil {
		t.Errorf("a start whose file changes meanwhile: %v", err)
	} else {
		again.Close()
	}
}
