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
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/lab/devtest/testrun"
	"cairn/internal/store/dbsqlc"
)

// templateLock is the advisory lock under which templates are created. Roles belong to the whole
// server, so two migrations must not run at the same time.
const templateLock = 0x636169726e // "cairn"

// databasePatience bounds the creation of one database. Migrations on a busy machine are slow.
const databasePatience = 2 * time.Minute

// templates maps a version to the function that creates its template once in this process.
var templates sync.Map

// administrator returns this process's superuser connections to the maintenance database.
var administrator = sync.OnceValues(func() (*pgxpool.Pool, error) {
	servers, err := shared()
	if err != nil {
		return nil, err
	}
	return pgxpool.New(context.Background(), maintenance(servers.DatabaseURL))
})

// Database creates a fresh database for a test, drops it at the end of the test and returns its
// URL. It is a copy of a template that migrate prepares once per version in a `go test` run.
// version is a hash of everything that migrate depends on. adminURL is a superuser's connection to
// the template; the returned URL is one to the copy.
func Database(t testing.TB, version string, migrate func(ctx context.Context, adminURL string) error) string {
	t.Helper()
	admin := maintenance(Stack(t).DatabaseURL)
	server, err := administrator()
	if err != nil {
		t.Fatalf("connect to the test server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
	defer cancel()
	once, _ := templates.LoadOrStore(version, sync.OnceValues(func() (string, error) {
		return makeTemplate(ctx, admin, testrun.This().TemplatePrefix()+shortHash(version), migrate)
	}))
	template, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}
	name := "cairn_test_" + strings.ToLower(rand.Text()[:16])
	if err := copyDatabase(ctx, server, template, name); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
		defer cancel()
		if _, err := server.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
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
	q := dbsqlc.New(conn)
	if err := q.TemplateLock(ctx, templateLock); err != nil {
		return "", fmt.Errorf("wait for other test processes: %w", err)
	}
	switch complete, err := q.TemplateComplete(ctx, name); {
	case err == nil && complete:
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
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH ALLOW_CONNECTIONS false")
	if err == nil {
		err = q.ConnectionsEnd(ctx, name)
	}
	if err == nil {
		_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE true")
	}
	if err != nil {
		return "", fmt.Errorf("seal the template: %w", err)
	}
	return name, nil
}

// objectInUse is the code that PostgreSQL returns while something, such as autovacuum, is still
// connected to the template.
const objectInUse = "55006"

func copyDatabase(ctx context.Context, server *pgxpool.Pool, template, name string) error {
	for {
		_, err := server.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy")
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

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// maintenance returns the address from which databases are created. On a managed server it is the
// database postgres, to which nothing else connects.
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
