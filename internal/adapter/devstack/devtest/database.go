package devtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// templateLock is the advisory lock under which templates are created. Roles belong to the whole
// server, so two migrations must not run at the same time.
const templateLock = 0x636169726e // "cairn"

// databasePatience bounds the creation of one database. Migrations on a busy machine are slow.
const databasePatience = 2 * time.Minute

// templates maps a version to the function that creates its template once in this process.
var templates sync.Map

// Database creates a fresh database for a test, drops it at the end of the test and returns its
// URL. It is a copy of a template that migrate prepares once per version in a `go test` run.
// version is a hash of everything that migrate depends on. adminURL is a superuser's connection to
// the template; the returned URL is one to the copy.
func Database(t testing.TB, version string, migrate func(ctx context.Context, adminURL string) error) string {
	t.Helper()
	admin := Stack(t).DatabaseURL
	ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
	defer cancel()
	once, _ := templates.LoadOrStore(version, sync.OnceValues(func() (string, error) {
		return makeTemplate(ctx, admin, templatePrefix(thisRun())+shortHash(version), migrate)
	}))
	template, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}
	name := "cairn_test_" + strings.ToLower(rand.Text()[:16])
	if err := copyDatabase(ctx, admin, template, name); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
		defer cancel()
		if err := drop(ctx, admin, name); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return onDatabase(admin, name)
}

// makeTemplate prepares the template unless another test process has done so. The mark
// datistemplate is set last, so a marked template is complete.
func makeTemplate(ctx context.Context, admin, name string, migrate func(context.Context, string) error) (string,
	error) {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", fmt.Errorf("wait for other test processes: %w", err)
	}
	var whole bool
	switch err := conn.QueryRow(ctx, "SELECT datistemplate FROM pg_database WHERE datname = $1", name).Scan(&whole); {
	case err == nil && whole:
		return name, nil
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return "", fmt.Errorf("find the template: %w", err)
	}
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("create the template: %w", err)
		}
	}
	if err := migrate(ctx, onDatabase(admin, name)); err != nil {
		return "", fmt.Errorf("migrate: %w", err)
	}
	// The first connection writes the initial state of every later one into a file, and copies
	// contain the file.
	if first, err := pgx.Connect(ctx, onDatabase(admin, name)); err != nil {
		return "", fmt.Errorf("inspect the template: %w", err)
	} else if err := first.Close(ctx); err != nil {
		return "", fmt.Errorf("inspect the template: %w", err)
	}
	// A database with connections cannot be copied: close those that migrate left open and admit no
	// more.
	for _, statement := range []string{
		"ALTER DATABASE " + name + " WITH ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '" + name + "'",
		"ALTER DATABASE " + name + " WITH IS_TEMPLATE true",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("seal the template: %w", err)
		}
	}
	return name, nil
}

// objectInUse is the code that PostgreSQL returns while something, such as autovacuum, is still
// connected to the template.
const objectInUse = "55006"

func copyDatabase(ctx context.Context, admin, template, name string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	for {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy")
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != objectInUse {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func drop(ctx context.Context, admin, name string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	return err
}

// dropTemplates removes the templates from an external server.
func dropTemplates(run testRun) {
	admin := os.Getenv("DATABASE_URL")
	if admin == "" {
		return // the whole server is removed
	}
	ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", templatePrefix(run))
	names, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		_, _ = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE false")
		_, _ = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	}
}

func templatePrefix(run testRun) string { return "cairn_template_" + run.Owner.digest() + "_" }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// maintenance returns the address from which databases are created. On a managed server it is the
// database postgres, which is never migrated.
func maintenance(address string) string {
	if os.Getenv("DATABASE_URL") != "" {
		return address
	}
	return onDatabase(address, "postgres")
}

// onDatabase returns address with another database, in URL or key=value form.
func onDatabase(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(parsed.Scheme, "postgres") {
		return address + " dbname=" + name // the last value wins
	}
	parsed.Path = "/" + name
	query := parsed.Query()
	query.Del("dbname")
	query.Del("database")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}
