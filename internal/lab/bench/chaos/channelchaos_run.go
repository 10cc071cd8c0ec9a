package chaos

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/openaitest"
)

//go:embed channel_audit.sql
var channelAuditSQL string

// ChannelOptions sets the size of the experiment. Zero fields have the values of the full experiment, given after the
// semicolon.
type ChannelOptions struct {
	People    int           // divided among the platforms; 50
	Messages  int           // of all people; 1,000
	KillEvery time.Duration // of the gateway, and between that of the worker; 5 s
	Crashes   bool          // crash Postgres and Temporal once
	Patience  time.Duration // for the last reply; 5 min
	Log       io.Writer     // progress messages; nil discards them
	Worker    string        // path of the worker binary; "" builds it
	Cairn     string        // path of the command line; "" builds it
	Seed      uint64        // of the gaps and faults; 1
}

func (o ChannelOptions) withDefaults() ChannelOptions {
	o.People, o.Messages = cmp.Or(o.People, 50), cmp.Or(o.Messages, 1000)
	o.KillEvery, o.Patience = cmp.Or(o.KillEvery, 5*time.Second), cmp.Or(o.Patience, 5*time.Minute)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// channelExperiment holds the open resources of a run of the experiment.
type channelExperiment struct {
	*ground.Ground
	options   ChannelOptions
	platforms []platform
	result    ChannelResult
}

// RunChannels lets people write over fakes of chat platforms while the gateway, the worker, Postgres and
// Temporal are killed. By the count of the fakes, each message must be answered by one turn, and the replies must keep
// the order of the messages. Some replies are long, so that chats show them while they are written.
func RunChannels(ctx context.Context, o ChannelOptions) (r ChannelResult, err error) {
	o = o.withDefaults()
	g, err := ground.Open(ctx, ground.Options{Name: "channels", Does: "counts everything on", Queries: channelAuditSQL,
		Lasting: o.Crashes, Worker: o.Worker, Log: o.Log})
	if err != nil {
		return r, err
	}
	e := &channelExperiment{Ground: g, options: o}
	err = e.run(ctx)
	for _, p := range e.platforms {
		p.Close()
	}
	return e.result, errors.Join(err, e.Close())
}

// id matches the ID of a message: its person and its number.
var id = regexp.MustCompile(`q\d+-\d+`)

// reply answers a turn with the IDs of all its messages: those after the last reply.
func reply(c openaitest.Call) string {
	var ids []string
	for _, m := range c.Messages {
		switch m.Role {
		case llm.RoleAssistant:
			ids = nil
		case llm.RoleUser:
			ids = append(ids, id.FindAllString(m.Content, -1)...)
		}
	}
	return "re " + strings.Join(ids, " ")
}

// longTail makes a reply one that chats show while it is written: for 1.5 seconds.
var longTail = strings.Repeat(" and so on, and so forth", 10)

func (e *channelExperiment) run(ctx context.Context) error {
	e.Model.On(openaitest.Rule{Stage: "turn", Match: `q\d+-\d*[13579]\b`, Pace: 150 * time.Millisecond,
		ReplyFunc: func(c openaitest.Call) string { return reply(c) + longTail }})
	e.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: reply})
	listen, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	var file string
	if e.platforms, file, err = startPlatforms(e.Folder, "http://"+listen); err != nil {
		return fmt.Errorf("write the accounts: %w", err)
	}
	program, err := ground.Build(ctx, ground.Cairn, e.options.Cairn, e.Folder)
	if err != nil {
		return err
	}
	gateway := e.SuperviseProgram(program, []string{"CAIRN_CHANNELS=" + file}, "gateway", "--listen", listen)
	defer gateway.Stop()
	worker := e.Supervise()
	defer worker.Stop()
	troubled, calm := context.WithCancel(ctx)
	defer calm()
	var trouble, people sync.WaitGroup
	trouble.Go(func() { gateway.KillEvery(troubled, e.options.KillEvery, e.options.Messages) })
	trouble.Go(func() {
		time.Sleep(e.options.KillEvery / 2)
		worker.KillEvery(troubled, e.options.KillEvery, e.options.Messages)
	})
	trouble.Go(func() { e.crash(troubled) })
	for person := range e.options.People {
		people.Go(func() { e.write(ctx, person) })
	}
	people.Wait()
	e.Say("all messages are written")
	calm()
	trouble.Wait()
	e.await(ctx)
	e.result.GatewayKills, e.result.Exits = gateway.Counts()
	kills, exits := worker.Counts()
	e.result.WorkerKills, e.result.Exits = kills, e.result.Exits+exits
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.count(ctx)
}

// freeAddress returns an address of loopback that is free.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// crash kills Postgres and Temporal once, while people write.
func (e *channelExperiment) crash(ctx context.Context) {
	if !e.options.Crashes {
		return
	}
	for _, restart := range []func(context.Context, bool) error{e.Stack.RestartPostgres, e.Stack.RestartTemporal} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(4 * e.options.KillEvery):
		}
		if err := restart(context.WithoutCancel(ctx), true); err != nil {
			e.find("restart a server: %v", err)
		}
		e.result.Crashes++
	}
}

// home returns the platform of a person.
func (e *channelExperiment) home(person int) platform { return e.platforms[person%len(e.platforms)] }

// name returns the ID of a person's user.
func name(person int) string { return fmt.Sprint(70000 + person) }

// each returns the number of messages of a person.
func (e *channelExperiment) each() int { return max(1, e.options.Messages/e.options.People) }

// write sends the messages of a person in bursts, with duplicates, while the platform is sometimes busy or broken.
func (e *channelExperiment) write(ctx context.Context, person int) {
	r := rand.New(rand.NewPCG(e.options.Seed, uint64(person)))
	p := e.home(person)
	for n := range e.each() {
		p.Say(channeltest.UserMessage{User: name(person), Name: "P" + fmt.Sprint(person), Text: messageID(person, n)})
		switch r.IntN(20) {
		case 0, 1:
			p.Repeat()
		case 2:
			p.Fail(channeltest.Fault{Kind: channeltest.Busy, RetryAfter: time.Second})
		case 3:
			p.Fail(channeltest.Fault{Kind: channeltest.Broken})
		case 4:
			p.Fail(channeltest.Fault{Kind: channeltest.Unknown})
		case 5:
			p.Drop()
		}
		gap := time.Duration(r.IntN(int(3 * e.options.KillEvery)))
		if r.IntN(3) == 0 {
			gap = 0 // a burst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gap):
		}
	}
}

func messageID(person, n int) string { return fmt.Sprintf("q%d-%d", person, n) }

// number returns the number that a query of the audit returns, -1 if a server is away.
func (e *channelExperiment) number(ctx context.Context, query string) int {
	n := -1
	_ = e.Audit.QueryRow(ctx, e.Audit.Text(query)).Scan(&n) // keeps -1
	return n
}

// await waits until all messages are answered or late, or patience is over.
func (e *channelExperiment) await(ctx context.Context) {
	over := time.Now().Add(e.options.Patience)
	for ctx.Err() == nil && time.Now().Before(over) {
		seen := map[string]bool{}
		for _, p := range e.platforms {
			for _, m := range p.Sent() {
				for _, one := range answered(m.Text) {
					seen[one] = true
				}
			}
		}
		late, _ := e.late(ctx) // none if a server is away
		maps.Copy(seen, late)
		if len(seen) >= e.options.People*e.each() && e.number(ctx, "open") == 0 {
			time.Sleep(2 * time.Second) // nothing else may follow
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
