// Command feishu serves the fake of Feishu until its input ends, so that check.py can run the official client with it.
package main

import (
	"log"
	"os"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/adapter/channel/feishu/feishutest"
)

func main() {
	s := feishutest.Start(feishutest.Options{})
	defer s.Close()
	if err := channeltest.Serve(s, s.URL, os.Stdin, os.Stdout); err != nil {
		log.Print(err)
	}
}
