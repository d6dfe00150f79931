#!/usr/bin/perl
# Replays the transcript of browsertask-control(7): what the page says is what
# the service answers, but for ids, times and sizes.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use IPC::Open2;
use JSON::PP;
use Test::More;

my ($top, $build) = @ENV{qw(srcdir builddir)};
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

# Numbers that are the same in every replay.
my %same = map { $_ => 1 } qw(attempt attempts contentSections done
	doneSteps elementCount failed index length limit offset proto seq
	status succeeded total totalSteps);
my %name_of;    # the page's ids to those of this replay
my $site_url;

sub transcript {
	open my $page, '<', "$top/man/browsertask-control.7" or die "page: $!";
	my $text = do { local $/; <$page> };
	my ($part) = $text =~ /^\.\\" transcript\n(.*?)^\.\\" end transcript$/ms
	    or die "no transcript\n";
	$part =~ s/\n    //g;
	$part =~ s/\\e/\\/g;
	# A bin with a JSON document is the document itself here.
	$part =~ s/<(?=\{)|(?<=\})>//g;
	return map { [ /^([CS]) (.*)$/ ] } split /\n/, $part;
}

# What is sent: with the ids and the address of this replay.
sub localize {
	my ($v) = @_;
	return { map { $_ => localize($v->{$_}) } keys %$v }
	    if ref $v eq 'HASH';
	return [ map { localize($_) } @$v ] if ref $v eq 'ARRAY';
	return $v if ref $v || !defined $v;
	$v = $name_of{$v} if exists $name_of{$v};
	$v =~ s{^http://127\.0\.0\.1:8080}{$site_url};
	return $v;
}

sub is_number { return defined $_[0] && $_[0] =~ /^-?\d+$/ }

# '' or where the two differ.
sub differs {
	my ($want, $got, $key) = @_;

	return ref $got eq 'HASH' ? hash_differs($want, $got)
	    : "$key: no object" if ref $want eq 'HASH';
	if (ref $want eq 'ARRAY') {
		return "$key: no array of " . @$want
		    unless ref $got eq 'ARRAY' && @$got == @$want;
		my @why = grep { $_ } map { differs($want->[$_], $got->[$_],
			"$key/$_") } 0 .. $#$want;
		return $why[0] // '';
	}
	return defined $got ? "$key: is not null" : '' unless defined $want;
	return "$key: is null" unless defined $got;
	return JSON::PP::is_bool($got) && !$want == !$got ? '' : "$key: $got"
	    if JSON::PP::is_bool($want);
	if (is_number($want)) {
		return "$key: no number" unless is_number($got);
		return $same{$key} && $want != $got ? "$key: $got" : '';
	}
	return '' if $key eq 'version';
	return $got =~ /^[0-9a-f]{32}$/ ? '' : "$key: $got"
	    if $key eq 'traceId';
	$name_of{$want} //= $got if $want =~ /^(run|sess|art)_.*[1-9A-Z]/
	    && $got =~ /^\Q$1\E_[0-9A-Z]{26}$/;
	return localize($want) eq $got ? '' : "$key: $got";
}

sub hash_differs {
	my ($want, $got) = @_;
	my ($a, $b) = map { join ' ', sort keys %$_ } $want, $got;

	return "keys: $b" if $a ne $b;
	my @why = grep { $_ } map { differs($want->{$_}, $got->{$_}, $_) }
	    sort keys %$want;
	return $why[0] // '';
}

# How far an active run is depends on the moment it is asked: keys alone.
sub live_differs {
	my ($want, $got) = @_;

	delete $got->{queuePosition};
	my ($a, $b) = map { join ' ', sort keys %$_ } $want, $got;
	return "keys: $b" if $a ne $b;
	return join ' ', grep { $_ } map { differs($want->{$_}, $got->{$_},
		$_) } qw(runId sessionId templateId mode traceId);
}

my $site_pid = open2(my $site_out, my $site_in,
    "$build/site/demosite", '-d', "$top/site/pages", '--exit-on-eof');
$site_url = <$site_out> // die "demosite did not start\n";
$site_url =~ s{/?\s*$}{};
my $i = BrowserTask::Harness->new(mode => (modes())[0]);
$i->start;
my $c = BrowserTask::Client->new($i->client_sock, raw => 1);

my %asked;
for my $line (transcript()) {
	my ($who, $text) = @$line;
	my $m = decode_json($text);

	if ($who eq 'C') {
		$asked{$m->[1]} = $m->[2];
		is($c->send($m->[2], localize($m->[3])), $m->[1],
			"sends $m->[2]");
	} elsif ($m->[0] == 1) {
		my $want = $m->[2] // $m->[3];
		my $method = $asked{$m->[1]};
		my $got = $c->answer($m->[1]);
		is($method =~ /^run\.(submit|follow)$/
		    ? live_differs($want, $got)
		    : differs($want, $got, $method), '', "answer of $method");
	} else {
		my $note = $c->event(30);
		is($note->[0], $m->[1], "notification $m->[1]");
		is(differs($m->[2], $note->[1], 'params'), '',
			'of ' . $m->[2]{event}{type});
	}
}
cmp_ok(scalar keys %asked, '>', 5, 'there was a transcript');
close $site_in;
waitpid $site_pid, 0;
done_testing();
