#!/usr/bin/perl
# Every acknowledgement follows a finished sync, those to clients and those to
# workers, which then forget what they told: strace looks at supervisord while
# clients submit, follow, cancel, close and drain. One that tells before it
# commits is found out.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Size qw(figure sized);
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $src = $ENV{srcdir} // '.';
my $rounds = sized('rounds', 3, 100);

plan skip_all => 'strace is not installed'
    if system('command -v strace >/dev/null') != 0;

sub supervisord {
	my ($i) = @_;
	my ($p) = grep { $_->{ppid} == $i->{pid}
	    && $_->{cmd} =~ /^(?:\S*\/)?supervisord\b/ } tree($i->{pid});
	return $p->{pid};
}

# Both ends of the log of calls: what begins and what ends it.
sub trace {
	my ($pid, $file) = @_;
	pipe(my $r, my $w) or die "pipe: $!\n";
	my $strace = fork() // die "fork: $!\n";

	if ($strace == 0) {
		open(STDERR, '>&', $w);
		exec 'strace', '-f', '-yy', '-xx', '-s', 4096, '-o', $file,
		    '-e', 'trace=fdatasync,fsync,pwrite64,pwritev,write,writev,'
		    . 'sendmsg,sendto,read,readv,recvfrom,recvmsg,renameat,'
		    . 'renameat2', '-p', $pid or POSIX::_exit(127);
	}
	close $w;
	my $said = lines($r)->next(20) // '';
	return $said =~ /attached/ ? $strace : undef;
}

# The descriptor of the database that is open with O_DSYNC: by what it writes a
# commit is complete.
sub meta_fd {
	my ($pid) = @_;
	for my $fd (glob "/proc/$pid/fd/*") {
		next if (readlink $fd // '') !~ /data\.mdb$/;
		my ($n) = $fd =~ /(\d+)$/;
		open(my $info, '<', "/proc/$pid/fdinfo/$n") or next;
		my ($flags) = map { /^flags:\s*(\d+)/ ? oct $1 : () } <$info>;
		return $n if $flags & 010000;
	}
	return undef;
}

sub script {
	my ($template, $words, $mode) = @_;
	return { templateId => $template,
		inputs => { do => [ split ' ', $words ] },
		options => { mode => $mode } };
}

# Follows until there was such an event.
sub follow {
	my ($c, $r, $type) = @_;

	$c->call('run.follow', { runId => $r->{runId} });
	while (my $e = $c->event(30)) {
		last if $e->[1]{event}{type} =~ $type;
	}
}

sub work {
	my ($i) = @_;
	my @c = map { BrowserTask::Client->new($i->client_sock) } 1 .. 4;

	for my $round (1 .. $rounds) {
		# Several at once share commits.
		my @sent = map { [ $_, $_->send('run.submit',
			script('fragile', 'step:s result done:s', 'sync')) ]
		} @c;
		$_->[0]->answer($_->[1]) for @sent;
		my $r = $c[0]->call('run.submit', script('scripted',
			'step:s item big art item done:s', 'async'));
		follow($c[0], $r, qr/^run_(?:completed|failed)$/);
		$r = $c[1]->call('run.submit',
			script('scripted', 'hold', 'async'));
		follow($c[1], $r, qr/^phase_changed$/);
		$c[2]->call('run.cancel', { runId => $r->{runId} });
		$r = $c[3]->call('run.submit',
			script('keeper', 'state result', 'sync'));
		$c[3]->call('session.close', { sessionId => $r->{sessionId} });
		$c[2]->call('service.drain', {});
		$c[2]->call('service.resume', {});
	}
}

sub work_little {
	my ($i) = @_;
	my $c = BrowserTask::Client->new($i->client_sock);

	$c->call('run.submit', script('fragile', 'result', 'async')) for 1 .. 5;
}

# The bytes of a call's buffers, one after the other.
sub bytes {
	my ($line) = @_;

	$line =~ s/^\w+\(\d+<.*?>(?=, )//;    # may name a socket's path
	my $hex = join '', $line =~ /"((?:\\x[0-9a-f]{2})*)"/g;
	$hex =~ s/\\x//g;
	return pack 'H*', $hex;
}

my $changes = qr/run\.submit|run\.cancel|session\.close|service\.\w+/;

# What a worker keeps until it is acknowledged, and what both sides number.
my $kept = do {
	my $text = BrowserTask::Harness::slurp("$src/ipc/msg.def");
	my @names = $text =~
	    /^MSG\(\w+,\s*"([\w.]+)",\s*NOTE,\s*UP,[^,]*,\s*IPC_KEPT\b/mg;
	my $names = join '|', map { quotemeta } @names;
	qr/^\x93\x02[\xa0-\xbf](?:$names)[\x80-\x8f]/;
};

# The number of the last message that a run.ack names.
sub acknowledged {
	my ($bytes) = @_;
	my %form = ("\xcc" => 'C', "\xcd" => 'n', "\xce" => 'N',
		"\xcf" => 'Q>');

	$bytes =~ s/^\x93\x02\xa7run\.ack\x81\xa1n// or return undef;
	my $form = $form{ substr $bytes, 0, 1 } // return ord $bytes;
	return unpack $form, substr $bytes, 1;
}

# The calls of all threads, each as { from, to, text }: the lines on which it
# begins and ends. One that sends is in the place of its begin, any other in
# that of its end.
sub calls {
	my ($file) = @_;
	my (%open, @calls);
	my $n = 0;

	open(my $fh, '<', $file) or die "$file: $!\n";
	while (my $line = <$fh>) {
		$n++;
		my ($thread, $text) = $line =~ /^(\d+)\s+(.*)/s or next;
		if ($text =~ s/<unfinished \.\.\.>$//) {
			my $call = { from => $n, to => $n, text => $text };
			$open{$thread} = $call;
			push @calls, $call if $text =~ /^(?:send|write)/;
			next;
		}
		if ($text =~ /^<\.\.\. (\w+) resumed>(.*)/s) {
			my ($name, $rest) = ($1, $2);
			my $call = delete $open{$thread} // next;
			$call->{text} .= $rest;
			$call->{to} = $n;
			push @calls, $call if $name !~ /^(?:send|write)/;
			next;
		}
		push @calls, { from => $n, to => $n, text => $text };
	}
	return @calls;
}

# What is wrong in a log of calls, and how often which rule was looked at. Who
# is answered must have asked before the commit began that ended last.
sub judge {
	my ($file, $meta) = @_;
	my (%asked, %file, %heard, %seen, %spool, %wrote, %item, @faults);
	my ($begun, $synced) = (0, 0);            # lines
	my %commit = (from => 0, to => 0);        # the last one
	my ($peer, $item);                        # heard last

	for my $call (calls($file)) {
		my ($n, $line) = @$call{qw(from text)};
		my $good = $line !~ /= -1 /;
		$line =~ s/^(\w+\(\d+<)((?:\\x[0-9a-f]{2})+)>/
		    $1 . bytes("\"$2\"") . '>'/e;
		if ($line =~ /^(?:pwrite64|pwritev|writev)\((\d+)<[^>]*data\.mdb>/) {
			if ($1 == $meta) {
				$seen{commits}++;
				push @faults, "line $n: a commit without a sync"
				    if $synced < $begun || !$good;
				%commit = (from => $begun, to => $call->{to})
				    if $good && $begun;
				$begun = 0;
			} else {
				push @faults, "line $n: a commit begins before"
				    . " a file's name is synced"
				    if !$begun && $file{named};
				$begun ||= $n;
				$synced = 0;
			}
		} elsif ($line =~ /^fdatasync\(\d+<[^>]*data\.mdb>/) {
			$synced = $n if $good;
		} elsif ($line =~ m{^pwrite64\(\d+<[^>]*/spool/(\w+)>}) {
			$wrote{$peer} = [ $1, $n ] if defined $peer;
			$item{$peer}[$item] = $wrote{$peer} if defined $item;
		} elsif ($line =~ m{^fdatasync\(\d+<[^>]*/spool/(\w+)>}) {
			push @{ $spool{$1} }, $call if $good;
			$seen{'synced spools'}++;
		} elsif ($line =~ m{^f(?:data)?sync\(\d+<[^>]*/incoming/(\w+)>}) {
			$file{$1} = $n if $good;
		} elsif ($line =~ m{^renameat2?\([^,]*, "([^"]+)"}) {
			push @faults, "line $n: a file gets its name unsynced"
			    if !$file{ bytes("\"$1\"") };
			$file{named} = $n;
			$seen{renames}++;
		} elsif ($line =~ m{^fsync\(\d+<[^>]*/(?:artifacts/\w\w|sessions)>}) {
			delete $file{named} if $good;
		} elsif ($line =~ /^recv(?:from|msg)\((\d+)<UNIX-STREAM/
		    || $line =~ /^readv?\((\d+)<UNIX-STREAM/) {
			my ($fd, $bytes) = ($1, bytes($line));
			while ($bytes =~ /\x94\x00\xce(....)[\xa0-\xbf]($changes)/gs) {
				$asked{$fd}{ unpack 'N', $1 } =
				    [ $call->{to}, $2 ];
			}
		} elsif ($line =~ m{^recvmsg\(\d+<(UNIX:\[.*?\])>}) {
			my $bytes = bytes($line);
			$peer = $1;
			undef $item;
			next if $bytes !~ $kept;
			push @{ $heard{$peer} }, $call->{to};
			# What names bytes of a spool needs them synced.
			next if $bytes !~ /item\.end/;
			$item = $#{ $heard{$peer} };
			$item{$peer}[$item] = $wrote{$peer};
		} elsif ($line =~ m{^(?:send(?:msg|to)|writev?)\(\d+<(UNIX:\[.*?\])>}) {
			my ($to, $bytes) = ($1, bytes($line));
			my $last = acknowledged($bytes) // next;
			$seen{acknowledgements}++;
			push @faults, "line $n: message $last of a worker"
			    . ' acknowledged without a commit'
			    if $commit{from} < ($heard{$to}[ $last - 1 ] // $n);
			for my $w (grep { $_ } @{ $item{$to} // [] }[ 0 ..
			    $last - 1 ]) {
				push @faults, "line $n: items are not synced"
				    if !grep { $_->{from} > $w->[1]
				    && $_->{to} < $commit{from} }
				    @{ $spool{ $w->[0] } };
			}
		} elsif ($line =~ /^(?:send(?:msg|to)|writev?)\((\d+)<UNIX-STREAM/) {
			my ($fd, $bytes) = ($1, bytes($line));
			while ($bytes =~ /\x94\x01(?:([\x00-\x7f])|\xcc(.)|\xcd(..))\xc0/gs) {
				my $seq = defined $1 ? ord $1 : defined $2
				    ? ord $2 : unpack 'n', $3;
				my $q = delete $asked{$fd}{$seq} // next;
				$seen{"answers to $q->[1]"}++;
				push @faults, "line $n: $q->[1] of line $q->[0]"
				    . ' answered without a commit'
				    if $commit{from} < $q->[0];
			}
			$seen{events} += () = $bytes =~ /\xa5event\x83/g;
		}
	}
	return (\@faults, \%seen);
}

sub look {
	my ($program, $work) = @_;
	my $i = BrowserTask::Harness->new(
		browser => "$build/t/launch/fake-headless-shell",
		programs => { workerd => "$build/t/scenario/scripted",
			supervisord => "$build/$program" },
		settings => ['maxConcurrentRuns=4'])->start;
	my $pid = supervisord($i);
	my $meta = meta_fd($pid);
	my $strace = trace($pid, $i->dir . '/trace');

	if (!defined $strace || !defined $meta) {
		$i->stop;
		return;
	}
	eval { $work->($i) };
	note $@ if $@;
	kill 'INT', $strace;
	waitpid $strace, 0;
	my @result = judge($i->dir . '/trace', $meta);
	is($i->stop, 0, 'it stops');
	return (@result, $i->dir . '/trace', $meta);
}

# Takes what the database was told out of the second half of a log.
sub forge {
	my ($from, $to) = @_;
	my $name = join '', map { sprintf '\\x%02x', ord } split //, 'data.mdb';
	open(my $in, '<', $from) or die "$from: $!\n";
	my @lines = <$in>;

	open(my $out, '>', $to) or die "$to: $!\n";
	my @second = splice @lines, @lines / 2;
	print {$out} @lines,
	    grep { $_ !~ /^\d+\s+\w+\(\d+<[^>]*\Q$name\E>/ } @second;
	close $out or die "$to: $!\n";
}

sub shipped {
	my ($faults, $seen, $file, $meta) =
	    look('supervisord/supervisord', \&work);

	plan skip_all => 'strace may not attach' if !$seen;
	is_deeply($faults, [], 'every acknowledgement follows a finished sync');
	cmp_ok($seen->{$_} // 0, '>=', $rounds, "looked at: $_") for 'commits',
	    'events', 'renames', 'synced spools', 'acknowledgements', map { "answers to $_" }
	    qw(run.submit run.cancel session.close service.drain
	    service.resume);
	figure('%s', join ', ', map { "$seen->{$_} $_" } sort keys %$seen);
	forge($file, "$file.forged");
	($faults) = judge("$file.forged", $meta);
	cmp_ok(scalar(grep { /acknowledged without/ } @$faults), '>', 0,
		'without commits, acknowledgements to workers are found out');
}

sub found_out {
	my ($faults, $seen) = look('t/scenario/early', \&work_little);

	plan skip_all => 'strace may not attach' if !$seen;
	cmp_ok(scalar(grep { /answered without/ } @$faults),
		'>', 0, 'one that tells too early is found out');
	note $faults->[0];
}

beside(shipped => \&shipped, 'too early' => \&found_out);
done_testing();
