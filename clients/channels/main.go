// Command channels serves the fake of a chat platform until its input ends. The file check.py of the platform runs the
// platform's own SDK with it:
//
//	go run ./clients/channels telegram
//	FAKE_URL=http://127.0.0.1:4711 PYTHONPATH=clients/channels python clients/channels/telegram/check.py
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/dingtalktest"
	"cairn/internal/lab/fakes/discordtest"
	"cairn/internal/lab/fakes/feishutest"
	"cairn/internal/lab/fakes/slacktest"
	"cairn/internal/lab/fakes/telegramtest"
)

// platforms start the fakes, by name.
var platforms = map[string]func() (channeltest.Served, error){
	"dingtalk": func() (channeltest.Served, error) {
		s := dingtalktest.Start()
		return channeltest.Served{Platform: s, URL: s.URL}, nil
	},
	"discord": discord,
	"feishu": func() (channeltest.Served, error) {
		s := feishutest.Start(feishutest.Options{})
		return channeltest.Served{Platform: s, URL: s.URL}, nil
	},
	"slack": slack,
	"telegram": func() (channeltest.Served, error) {
		s := telegramtest.Start()
		return channeltest.Served{Platform: s, URL: s.URL, Actions: channeltest.Actions{
			"attach": func(b channeltest.Body) any { return s.SayWith(b.UserMessage, []byte(b.Data)) }}}, nil
	},
	"webhook": webhook,
}

func discord() (channeltest.Served, error) {
	s, err := discordtest.Open(discordtest.Options{Interval: 2 * time.Second})
	if err != nil {
		return channeltest.Served{}, err
	}
	return channeltest.Served{Platform: s, URL: s.URL, Actions: channeltest.Actions{
		"attach": func(b channeltest.Body) any { return s.Attach(b.User, "notes.txt", "text/plain", []byte(b.Data)) },
		"forget": func(channeltest.Body) any {
			s.Forget()
			return nil
		},
		"counts": func(channeltest.Body) any { return s.Counts() },
	}}, nil
}

// slacks are the fakes of two apps: the first one uses Socket Mode, and the second one the Events API.
type slacks struct {
	*slacktest.Server
	hook slacktest.HTTP
}

// Close ends both fakes.
func (s slacks) Close() {
	s.hook.Close()
	s.Server.Close()
}

func slack() (channeltest.Served, error) {
	s := slacks{slacktest.Start(slacktest.Options{}), slacktest.StartHTTP(slacktest.Options{})}
	// Without a proxy, the names of headers stay in lower case, as Slack sends them.
	return channeltest.Served{Platform: s, Handler: s.Config.Handler, Actions: channeltest.Actions{
		"attach": func(b channeltest.Body) any {
			return s.Share(b.UserMessage, slacktest.File{Name: "notes.txt", Type: "text/plain",
				Content: []byte(b.Data)})
		},
		"warn": func(channeltest.Body) any {
			s.Warn()
			return nil
		},
		"open": func(channeltest.Body) any { return s.Pending() },
		"mount": func(b channeltest.Body) any {
			s.hook.Mount(b.URL)
			return nil
		},
		"notify": func(b channeltest.Body) any { return s.hook.Say(b.UserMessage) }, // by the Events API
	}}, nil
}

func main() {
	if err := serve(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func serve(args []string) error {
	names := strings.Join(slices.Sorted(maps.Keys(platforms)), ", ")
	if len(args) != 1 || platforms[args[0]] == nil {
		return fmt.Errorf("usage: channels PLATFORM, which is one of %s", names)
	}
	s, err := platforms[args[0]]()
	if err != nil {
		return err
	}
	defer s.Close()
	return channeltest.Serve(s, os.Stdin, os.Stdout)
}
