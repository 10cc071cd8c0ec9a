package slack

import (
	"context"
	"sync"
	"time"
)

const (
	namesTime   = 2 * time.Second // of all names of an event: Slack waits 3 seconds for its acknowledgement
	nameLife    = time.Hour
	missingLife = time.Minute // until Slack is asked again for a name that it did not give
	mostNames   = 10_000
)

// names are the names of users that are known.
type names struct {
	mu    sync.Mutex
	known map[string]knownName
}

type knownName struct {
	name  string // empty if Slack did not give it
	until time.Time
}

// name returns the name of a user, empty if it is not known.
func (a *Adapter) name(ctx context.Context, user string) string {
	if n, ok := a.names.find(user); ok {
		return n
	}
	u, err := a.client.GetUserInfoContext(ctx, user)
	if err != nil {
		a.names.put(user, knownName{"", time.Now().Add(missingLife)})
		return ""
	}
	name := firstOf(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name)
	a.names.put(user, knownName{name, time.Now().Add(nameLife)})
	return name
}

func (n *names) find(user string) (name string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.known[user]
	return k.name, ok && time.Now().Before(k.until)
}

func (n *names) put(user string, k knownName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= mostNames {
		n.known = map[string]knownName{}
	}
	n.known[user] = k
}
