#!/usr/bin/perl
# kill -9 of every kind of process at random moments of a batch, as root and as
# an ordinary user: nothing acknowledged is lost, no page of a journaled item is
# fetched twice, no process is left, nothing hangs.
#
# SEED repeats a sequence.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Size qw(figure seeded sized);
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use Test::More;
use Time::HiRes qw(time sleep);

my $rounds = sized('kills of each kind', 3, 50);
seeded();
my $pages = 20;

my $builddir = $ENV{builddir} // '.';
open my $site, '-|', "$builddir/site/demosite", '--delay-ms', '100'
    or die "demosite: $!";
chomp(my $address = <$site>);
$address =~ s{/$}{};
my $site_pid = (grep { $_->{cmd} =~ /demosite/ } tree())[0]{pid};
my $http = HTTP::Tiny->new;
my $corpus = 0;

# Fresh pages for every run, so that the site's log counts for it alone. The
# last one takes 1.5 seconds: no run has ended before it is killed.
sub urls {
	return ((map { "$address/corpus/" . (1 + $corpus++ % 100) }
	    2 .. $pages), "$address/slow");
}

sub fetched {
	my $log = decode_json($http->get("$address/_log")->{content});
	my $rows = ref $log eq 'HASH' ? $log->{requests} // $log->{log} : $log;
	return map { $_->{path} => $_->{count} } @$rows;
}

# A connection of its own per call: it outlives no process of the service.
sub call {
	my ($i, $method, $params) = @_;
	my $answer = eval {
		BrowserTask::Client->new($i->client_sock)->call($method, $params);
	};
	return ref $answer eq 'HASH' ? $answer : {};
}

sub submit {
	my ($i, $key, @urls) = @_;
	return call($i, 'run.submit', {
		templateId => 'batch_extract_pages',
		inputs => { urls => \@urls },
		options => { idempotencyKey => $key, mode => 'async' },
	})->{runId} // '';
}

# The indexes of the items that the service has said are done.
sub items_done {
	my ($i, $run) = @_;
	my $answer = call($i, 'run.events', { runId => $run });
	return map { $_->{data}{index} } grep { $_->{type} eq 'progress' }
	    @{ $answer->{events} // [] };
}

sub show {
	my ($i, $run) = @_;
	return call($i, 'run.get', { runId => $run });
}

sub wait_done {
	my ($i, $run, $n) = @_;
	return wait_until(60, sub {
		my $r = show($i, $run);
		return ($r->{progress}{doneSteps} // 0) >= $n
		    || ($r->{status} // '') !~ /^(queued|running)$/;
	});
}

sub wait_ended {
	my ($i, $run, $seconds) = @_;
	my $r;
	wait_until($seconds, sub {
		$r = show($i, $run);
		return ($r->{status} // '') =~
		    /^(succeeded|partial_success|failed|canceled)$/;
	});
	return $r;
}

my %is = (
	worker => qr{(^|/)workerd\b},
	browser => qr{chromium(?!.*--type=)},
	cell => qr{^cell\b|(^|/)cell\b},
	supervisord => qr{(^|/)supervisord\b},
);

sub victim {
	my ($i, $kind) = @_;
	return $i->{pid} if $kind eq 'launcher';
	my @found;
	wait_until(60, sub {
		@found = grep { $_->{cmd} =~ $is{$kind} && $_->{state} ne 'Z' }
		    tree($i->{pid});
	});
	return $found[0]{pid};
}

sub check_continued {
	my ($i, $run, $name, $done, @urls) = @_;
	my $r = wait_ended($i, $run, 90);

	is($r->{status}, 'succeeded', "$name: the run continues and succeeds")
	    or diag explain($r), $i->log;
	is($r->{result}{summary}{succeeded}, $pages, "$name: every page is read");
	is(scalar @{ $r->{result}{items} // [] }, $pages,
	    "$name: every item is there once");
	my %count = fetched();
	my @twice = grep {
		my ($path) = $urls[$_] =~ m{(/(?:corpus/|slow).*)};
		($count{$path} // 0) != 1
	} @$done;
	is("@twice", '', "$name: none of the " . @$done .
	    ' journaled pages is fetched twice');
}

sub check_failed {
	my ($i, $run, $name) = @_;
	my $r = wait_ended($i, $run, 30);

	is($r->{status}, 'failed', "$name: the run fails") or diag $i->log;
	like($r->{error}{errorCode} // '', qr/^(PAGE_CRASHED|EXECUTION_ERROR)$/,
	    "$name: with a reason: " . ($r->{error}{message} // ''));
	ok($r->{error}{retryable}, "$name: that says retrying helps");
}

sub round {
	my ($i, $kind, $name) = @_;
	my @urls = urls();
	$http->post("$address/_log/reset");
	my $run = submit($i, $name, @urls);

	like($run, qr/^run_/, "$name: acknowledged") or return;
	wait_done($i, $run, int rand($pages - 6));
	sleep rand 0.05;
	my @done = items_done($i, $run);
	my $pid = victim($i, $kind);
	my $killed = time;
	ok(defined $pid && kill('KILL', $pid), "$name: killed after " . @done)
	    or return;
	if ($kind eq 'launcher') {
		$i->wait(10);
		is(left(60, $site_pid), '', "$name: nothing is left");
		$i->start;
	}
	if ($kind =~ /supervisord|launcher/) {
		check_continued($i, $run, $name, \@done, @urls);
	} else {
		check_failed($i, $run, $name);
	}
	my $took = time - $killed;
	is(submit($i, $name, @urls), $run, "$name: its key still names the same run");
	return $took;
}

# The worst of all rounds is told.
sub rounds {
	my ($i, $mode, $kind) = @_;
	my @took = sort { $a <=> $b }
	    map { round($i, $kind, "$mode $kind $_") // () } 1 .. $rounds;

	figure('%s: %s killed %d times, its run ended after at most %.2f s',
	    $mode, $kind, scalar @took, $took[-1] // 0);
}

each_mode(sub {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode)->start;
	rounds($i, $mode, $_) for qw(worker browser cell supervisord launcher);
	my @urls = urls();
	my $r = wait_ended($i, submit($i, "$mode last", @urls), 60);
	is($r->{status}, 'succeeded', "$mode: the service is as good as new");
	is($i->stop, 0, "$mode: stops");
	is(left(60, $site_pid), '', "$mode: nothing is left");
});
kill 'TERM', $site_pid;
close $site;
done_testing();
