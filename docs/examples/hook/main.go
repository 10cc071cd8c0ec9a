// Command hook puts memory around an agent of one's own, in each of the three
// modes: static recalls before the agent answers and records afterwards, tools
// gives the agent memory's tools and nothing else, both does both. Lines of
// standard input are the messages of a session.
//
//	CAIRN_KEY=cairn_… go run ./docs/examples/hook -session trip -mode both < lines.txt
//
// With OPENAI_BASE_URL, OPENAI_API_KEY and CAIRN_MODEL a model answers (model.go);
// without, a parrot that knows what memory says and nothing else (parrot.go).
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"cairn/starter/client"
)

func main() {
	session := flag.String("session", "example", "name of the session")
	mode := flag.String("mode", string(client.HookStatic), "who uses memory: static, tools or both")
	marks := flag.String("marks", ".cairn-marks", "folder that remembers what was recorded")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	memory, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	answers := parrot
	if at := os.Getenv("OPENAI_BASE_URL"); at != "" {
		answers = endpoint{url: at, key: os.Getenv("OPENAI_API_KEY"), model: os.Getenv("CAIRN_MODEL")}.answer
	}
	agent := memory.Hook(*session, answers,
		client.HookOptions{Mode: client.HookMode(*mode), Marks: client.FileMarks(*marks), Failed: func(err error) {
			log.Print(err)
		}})
	var said []client.Message
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		said = append(said, client.Message{Role: "user", Content: lines.Text()})
		if said, err = agent(ctx, said); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("you:   %s\nagent: %s\n", lines.Text(), said[len(said)-1].Content)
	}
}
