package production

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/bench/audit"
	"cairn/internal/lab/fakes/openaitest"
)

// Groups of workspaces of step 5: one is restored from a dump, the other from a base backup.
const (
	dumped   = 5
	archived = 6
)

const (
	secretText = "the bees are in the shed"
	lostText   = "from the lost timeline"
	backupPage = "docs/operations/backup.md"
	secretMark = 9001 // numbers of messages that are not sent again
	openMark   = 9002
	heldMark   = 9003
)

func barrier(group int) string { return fmt.Sprintf("held-%d", group) }

// backup is a way to back up and restore, with the commands of the runbook.
type backup struct {
	name    string
	group   int
	before  func(context.Context, *operator) error // before any message
	take    func(context.Context, *operator) error
	lose    func(context.Context, *operator) error // after the last message
	restore func(context.Context, *operator) error // of the database
}

// restores is step 5.
func (e *experiment) restores(ctx context.Context, to sheet) error {
	page, err := ReadPage(e.root, backupPage)
	if err != nil {
		return err
	}
	for _, b := range []backup{fromDump(), fromArchive()} {
		if err := e.restore(ctx, to, page, b); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

// restore backs up, goes on, restores, and sends the same messages again.
func (e *experiment) restore(ctx context.Context, to sheet, page Page, b backup) error {
	o, err := e.operator(page, b.name)
	if err != nil {
		return err
	}
	if err := b.before(ctx, o); err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, b.group, 5)
	if err != nil {
		return err
	}
	if err := e.awaitPooler(ctx); err != nil {
		return err
	}
	f, err := e.startFleet(ctx, e.pooled())
	if err != nil {
		return err
	}
	past, err := e.past(ctx, f, tenants)
	if err != nil {
		return err
	}
	mark := e.model.Mark()
	e.say("backup: %s", b.name)
	if err := b.take(ctx, o); err != nil {
		return err
	}
	if err := o.packages(ctx); err != nil {
		return err
	}
	lost, err := e.future(ctx, b, f, tenants)
	if err != nil {
		return err
	}
	e.stopProcesses()
	if err := b.lose(ctx, o); err != nil {
		return err
	}
	e.say("restore: %s", b.name)
	if err := b.restore(ctx, o); err != nil {
		return err
	}
	e.model.Rewind(mark)
	accepted, err := o.accept(ctx)
	if err != nil {
		return err
	}
	return e.again(ctx, to, b, tenants, past, lost, accepted)
}

// past is the work before the backup. The last message is accepted and not answered, because no worker
// runs. It returns the marks of all messages but the secret.
func (e *experiment) past(ctx context.Context, f fleet, tenants []tenant) (sent []string, err error) {
	c := newClient(f.urls()...)
	for _, t := range tenants {
		for n := range 2 {
			if err := c.insist(ctx, t, message("c", t.mark(n), 60), e.options.Patience); err != nil {
				return nil, err
			}
			sent = append(sent, t.mark(n))
		}
	}
	first := tenants[0]
	secret := message("secret", first.mark(secretMark), 60)
	secret["text"] = fmt.Sprintf("This is %s: %s.", first.mark(secretMark), secretText)
	if err := c.insist(ctx, first, secret, e.options.Patience); err != nil {
		return nil, err
	}
	stopAll(f.workers)
	_, accepted, err := c.send(ctx, first, message("open", first.mark(openMark), 0))
	if err == nil && !accepted {
		err = errors.New("a message without workers is not accepted")
	}
	return append(sent, first.mark(openMark)), err
}

// future is the work after the backup, which the restore forgets: turns, an erasure, and a turn whose
// model call hangs until after the restore.
func (e *experiment) future(ctx context.Context, b backup, f fleet, tenants []tenant) (sent []string, err error) {
	if _, err := e.startWorkers(e.pooled()); err != nil {
		return nil, err
	}
	c := newClient(f.urls()...)
	if sent, err = e.lostTurns(ctx, c, tenants); err != nil {
		return nil, err
	}
	first := tenants[0]
	if err := c.insist(ctx, first, message("open", first.mark(openMark), 60), e.options.Patience); err != nil {
		return nil, err
	}
	if err := until(ctx, e.options.Patience, "the conversation is erased", func() (bool, error) {
		a, err := c.do(ctx, first, http.MethodDelete, "/v1/conversations/secret?wait=30", nil)
		return err == nil && (a.status == http.StatusOK || a.status == http.StatusNotFound), err
	}); err != nil {
		return nil, err
	}
	held := message("held", first.mark(heldMark), 0)
	held["text"] = fmt.Sprintf("hold %s", first.mark(heldMark))
	if _, accepted, err := c.send(ctx, first, held); err != nil || !accepted {
		return nil, errors.Join(errors.New("the message that hangs is not accepted"), err)
	}
	waiting, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	return sent, e.model.AwaitBarrier(waiting, barrier(b.group), 1)
}

// lostTurns sends the messages that are sent again after the restore, half of them in new conversations.
func (e *experiment) lostTurns(ctx context.Context, c *client, tenants []tenant) (sent []string, err error) {
	for n := range e.options.Lost {
		t := tenants[n%len(tenants)]
		at := 10 + n/len(tenants)
		conversation := "c"
		if at%2 == 1 {
			conversation = fmt.Sprintf("new-%d", at)
		}
		if err := c.insist(ctx, t, message(conversation, t.mark(at), 60), e.options.Patience); err != nil {
			return nil, err
		}
		sent = append(sent, t.mark(at))
	}
	return sent, nil
}

// awaitPooler waits until the pooler, which repeats the failure of a login for a second, has noticed that
// Postgres has restarted.
func (e *experiment) awaitPooler(ctx context.Context) error {
	return until(ctx, readyPatience, "the pooler reaches Postgres", func() (bool, error) {
		conn, err := pgx.Connect(ctx, e.pooler.URL(login, database))
		if err != nil {
			return false, ctx.Err()
		}
		return true, conn.Close(ctx)
	})
}

// again starts the processes on the restored database, sends the lost messages again, and counts.
func (e *experiment) again(ctx context.Context, to sheet, b backup, tenants []tenant, past, lost []string,
	accepted string) error {
	to.row(strings.Contains(accepted, "1 erasures from after the backup are repeated"),
		b.name+": `cairn restore accept` repeats the erasure", "%s", firstLine(accepted))
	if err := e.awaitPooler(ctx); err != nil {
		return err
	}
	f, err := e.startFleet(ctx, e.pooled())
	if err != nil {
		return err
	}
	e.model.Release(barrier(b.group))
	c := newClient(f.urls()...)
	repeated, err := e.lostTurns(ctx, c, tenants)
	to.row(err == nil && slices.Equal(repeated, lost), b.name+": the same messages are answered", "%d of %d %s",
		len(repeated), len(lost), describe(err, ""))
	if err != nil {
		return err
	}
	first := tenants[0]
	err = until(ctx, e.options.Patience, "the open run ends", func() (bool, error) {
		return c.ended(ctx, first, "open", first.mark(openMark))
	})
	to.row(err == nil, b.name+": the run that was open at the backup ends", "%s", describe(err, "answered"))
	a, err := e.audit(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	e.model.ForgetCalls(func(c openaitest.Call) bool { return asked(c) == first.mark(secretMark) }) // erased
	if err := e.answers(ctx, to, fmt.Sprintf("p%d", b.group), append(past, lost...)); err != nil {
		return err
	}
	if err := e.countLost(ctx, to, a, b); err != nil {
		return err
	}
	to.none(append(c.wrong, c.broken...), b.name+": 0 errors of a gateway", "%s", c.shown())
	return nil
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// countLost looks for writes of the lost timeline, and for the erased text.
func (e *experiment) countLost(ctx context.Context, to sheet, a *audit.Audit, b backup) error {
	err := until(ctx, e.options.Patience, "the text is erased again", func() (bool, error) {
		n, err := a.Number(ctx, "lost_text")
		return n == 0, err
	})
	n, counted := a.Number(ctx, "lost_text")
	if counted != nil {
		return counted
	}
	held, counted := a.Number(ctx, "held")
	if counted != nil {
		return counted
	}
	to.row(err == nil && n == 0 && held == 0, b.name+": no write by an old workflow, erased stays erased",
		"%d messages, %d conversations", n, held)
	return nil
}

func fromDump() backup {
	nothing := func(context.Context, *operator) error { return nil }
	return backup{name: "dump", group: dumped, before: nothing, lose: nothing,
		take: func(ctx context.Context, o *operator) error { _, err := runBlocks(ctx, o.own, o.dump); return err },
		restore: func(ctx context.Context, o *operator) error {
			_, err := runBlocks(ctx, o.own, o.blocks[0])
			return err
		}}
}

// fromArchive restores a base backup from before all messages, with the WAL up to the backup of the
// package store. Then the server crashes.
func fromArchive() backup {
	return backup{name: "base backup and WAL", group: archived,
		before: func(ctx context.Context, o *operator) error {
			if _, err := runBlocks(ctx, o.own, o.archive[0]); err != nil {
				return err
			}
			if err := errors.Join(o.e.primary.Stop(ctx, false), o.e.primary.Start(ctx)); err != nil {
				return err
			}
			_, err := runBlocks(ctx, o.server, o.archive[1])
			return err
		},
		take: func(ctx context.Context, o *operator) error {
			now := time.Now().UTC().Format("2006-01-02 15:04:05.000000-07")
			o.server.Environ = append(o.server.Environ, "RESTORE_TO="+now)
			return nil
		},
		lose: func(ctx context.Context, o *operator) error {
			if err := o.e.archiveWAL(ctx); err != nil {
				return err
			}
			return o.e.primary.Stop(ctx, true)
		},
		restore: func(ctx context.Context, o *operator) error {
			if _, err := runBlocks(ctx, o.server, o.point[0]); err != nil {
				return err
			}
			if err := o.e.primary.Start(ctx); err != nil {
				return err
			}
			_, err := runBlocks(ctx, o.own, o.point[1])
			return err
		}}
}

// archiveWAL waits until the current segment of the WAL is archived.
func (e *experiment) archiveWAL(ctx context.Context) error {
	a, err := e.audit(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	var segment string
	if err := a.QueryRow(ctx, "select pg_walfile_name(pg_switch_wal())").Scan(&segment); err != nil {
		return fmt.Errorf("switch the WAL: %w", err)
	}
	return until(ctx, readyPatience, "the WAL is archived", func() (bool, error) {
		n, err := a.Number(ctx, "archived", segment)
		return n == 1, err
	})
}
