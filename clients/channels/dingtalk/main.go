// Command dingtalk serves the fake of DingTalk until its input ends, so that check.py can run the official client with
// it.
package main

import (
	"log"
	"os"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/adapter/channel/dingtalk/dingtalktest"
)

func main() {
	s := dingtalktest.Start()
	defer s.Close()
	if err := channeltest.Serve(s, s.URL, os.Stdin, os.Stdout); err != nil {
		log.Print(err)
	}
}
