module example.org/loopback

go 1.19
