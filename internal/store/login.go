package store

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// login is the user and the password of an address that is in a file. If Postgres rejects them, the
// file is read again, so that a password can be changed without a restart. A nil login keeps those of
// the address.
type login struct {
	read func() (string, error)

	mu             sync.Mutex
	changes        int // number of times that the file held another login
	user, password string
}

// newLogin returns nil without a function that reads the address again.
func newLogin(c *pgx.ConnConfig, read func() (string, error)) *login {
	if read == nil {
		return nil
	}
	return &login{read: read, user: c.User, password: c.Password}
}

// apply sets the login of a new connection.
func (l *login) apply(_ context.Context, c *pgx.ConnConfig) error {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.User, c.Password = l.user, l.password
	}
	return nil
}

// try calls connect, and once more if Postgres rejects the login and the file holds another one.
func (l *login) try(connect func() error) error {
	if l == nil {
		return connect()
	}
	l.mu.Lock()
	used := l.changes
	l.mu.Unlock()
	err := connect()
	if !isLoginRejected(err) || !l.renew(used) {
		return err
	}
	return connect()
}

// renew reads the file again and reports whether the login differs from the one that was used.
func (l *login) renew(used int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changes != used { // another attempt has read it
		return true
	}
	url, err := l.read()
	if err != nil {
		return false
	}
	c, err := pgx.ParseConfig(url)
	if err != nil || c.User == l.user && c.Password == l.password {
		return false
	}
	l.user, l.password = c.User, c.Password
	l.changes++
	return true
}

// isLoginRejected reports whether a connection was not opened because of its user or password.
func isLoginRejected(err error) bool {
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	return errors.As(err, &connect) && errors.As(err, &pg) && (pg.Code == invalidPassword || pg.Code == invalidLogin)
}

// SQLSTATEs of a rejected login.
const (
	invalidLogin    = "28000"
	invalidPassword = "28P01"
)
